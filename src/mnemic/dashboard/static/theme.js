// Runs before the first paint: use the theme that was chosen here.
try {
  const chosen = localStorage.getItem("mnemic-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* Storage may be forbidden: then the system's theme is used. */ }
