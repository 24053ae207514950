// All the script there is. Every page is HTML from the server and works without it; this makes pages quicker.
//   data-swap="#id"   a link or a GET form whose answer replaces the inside of #id; a form, also while typing
//   data-append="#id" a link whose answer is added to the end of #id
//   data-live="url"   Server-Sent Events whose data, HTML from the server, goes to the top of the element
//   data-refresh="s"  the element is asked for again every s seconds, by its id
//   data-follow="url" the same whenever a message comes: Server-Sent Events whose data does not matter
//   data-key="x"      the key that clicks the element
const policy = globalThis.trustedTypes?.createPolicy("mnemic", { createHTML: html => html });
const trusted = html => policy ? policy.createHTML(html) : html;
const $ = (pick, within = document) => within.querySelector(pick);
const all = (pick, within = document) => [...within.querySelectorAll(pick)];
const on = (type, pick, run, options) => document.addEventListener(type, event => {
  const at = event.target.closest?.(pick);
  if (at) run(at, event);
}, options);
const main = $("#main"), busy = $("#busy"), frame = $("#frame");
const asked = new Map(); // The request under way for each target: a newer one ends an older one.

async function ask(target, url, options = {}) {
  asked.get(target)?.abort();
  const stop = new AbortController(), slow = setTimeout(() => busy?.classList.add("on"), 150);
  asked.set(target, stop);
  try {
    const answer = await fetch(url, { ...options, signal: stop.signal, headers: { "X-Fragment": target } });
    const isPage = answer.headers.get("content-type")?.startsWith("text/html");
    const signedOut = new URL(answer.url).pathname === "/ui/sign-in";
    if (!isPage || signedOut) { location.assign(signedOut ? answer.url : url); return null; }
    return { url: answer.url, html: await answer.text() };
  } catch (error) {
    if (error.name === "AbortError") return null;
    return { url, html: '<div class="alert bad" role="alert">The server does not answer. Check that it runs, then try again.</div>' };
  } finally { clearTimeout(slow); busy?.classList.remove("on"); }
}

async function swap(source, url) {
  const target = source.dataset.swap ?? source.dataset.append, answer = await ask(target, url);
  const place = $(target);
  if (!answer || !place) return; // Another page may have come meanwhile.
  if ("append" in source.dataset) { source.remove(); place.insertAdjacentHTML("beforeend", trusted(answer.html)); }
  else { place.innerHTML = trusted(answer.html); history.replaceState(null, "", url); }
}

// A form that was refused stays as it was filled in, with the reason above it.
function keepsInput(form, html) {
  if (!form?.isConnected || !$("textarea, input:not([type=hidden])", form)) return false;
  const why = $("[data-failed] [data-why]", new DOMParser().parseFromString(trusted(html), "text/html"));
  if (!why) return false;
  $("[data-refused]", form)?.remove();
  form.prepend(Object.assign(document.createElement("div"), { className: "alert bad", role: "alert", textContent: why.textContent }));
  form.firstElementChild.dataset.refused = "";
  return true;
}

async function visit(url, options, how, form) {
  const answer = await ask("#main", url, options);
  if (!answer || keepsInput(form, answer.html)) return;
  form?.closest("dialog")?.close();
  if (how === "push") history.pushState(null, "", answer.url);
  main.innerHTML = trusted(answer.html);
  const title = $("title", main);
  if (title) { document.title = title.textContent; title.remove(); }
  const page = location.pathname.split("/")[2];
  for (const link of all(".nav a")) {
    const here = link.dataset.page === page || link.dataset.page === $("[data-page-of]", main)?.dataset.pageOf;
    here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  if (how === "push") { scrollTo(0, 0); main.focus({ preventScroll: true }); }
  menu(false);
  begin();
}

const query = form => {
  const fields = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  return `${form.getAttribute("action") || location.pathname}?${fields}`;
};
let typing;
on("input", "form[data-swap]", form => { clearTimeout(typing); typing = setTimeout(() => swap(form, query(form)), 180); });
on("change", "form[data-auto] select", select => select.form.requestSubmit());
on("submit", "form", (form, event) => {
  if (event.defaultPrevented || !main || "plain" in form.dataset) return;
  clearTimeout(typing);
  event.preventDefault();
  if (form.method === "post") {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    visit(event.submitter?.formAction && event.submitter.hasAttribute("formaction") ? event.submitter.formAction : form.action, { method: "POST", body }, "push", form);
  } else if (form.dataset.swap) swap(form, query(form));
  else visit(query(form), {}, "push");
});
on("click", "a[href]", (link, event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || !main) return;
  if (link.origin !== location.origin || !link.pathname.startsWith("/ui/") || link.hasAttribute("download")) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  "swap" in link.dataset || "append" in link.dataset ? swap(link, link.href) : visit(link.href, {}, "push");
});
addEventListener("popstate", () => { if (main) visit(location.href, {}, "back"); });

// Theme, menu, dialogs, fields that confirm.
on("click", "[data-theme-toggle]", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("mnemic-theme", root.dataset.theme); } catch { /* Not kept. */ }
});
const menu = open => {
  frame?.classList.toggle("nav-open", open);
  $("[data-menu]")?.setAttribute("aria-expanded", open);
};
on("click", "[data-menu]", (button, event) => { event.preventDefault(); menu(!frame.classList.contains("nav-open")); });
on("click", ".frame.nav-open", (at, event) => { if (!event.target.closest(".side, [data-menu]")) menu(false); });
on("click", "[data-open]", button => document.getElementById(button.dataset.open)?.showModal());
on("click", "dialog [data-close]", button => button.closest("dialog").close());
on("change", "[data-check-all]", box => { for (const each of all(`input[name="${CSS.escape(box.dataset.checkAll)}"]`)) each.checked = box.checked; });

// Keys: / searches, j and k walk through rows, g and a letter opens a page, ? lists them.
let before = "";
document.addEventListener("keydown", event => {
  if (event.target.closest("input, textarea, select, [contenteditable]") || event.metaKey || event.ctrlKey || event.altKey || $("dialog[open]")) return;
  const rows = all("[data-row]"), at = rows.indexOf(document.activeElement), search = $("[data-search]");
  if (before === "g" && $(`.nav a[data-letter="${CSS.escape(event.key)}"]`)) $(`.nav a[data-letter="${CSS.escape(event.key)}"]`).click();
  else if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
  else if (event.key === "j" || event.key === "k") rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
  else if (event.key === "?") $("#keys-help")?.showModal();
  else if (event.key === "Escape") menu(false);
  else if (event.key !== "g") $(`[data-key="${CSS.escape(event.key)}"]`)?.click();
  before = event.key;
});

// Live parts: streams of events, and parts that are asked for again.
let streams = [], timers = [];
const due = new Set(); // Parts to ask for again as soon as nobody uses them.
function listen(part, url, run) {
  const stream = new EventSource(url), state = $("[data-live-state]");
  stream.onopen = () => state?.classList.add("on");
  stream.onerror = () => state?.classList.remove("on");
  stream.onmessage = event => run(part, event);
  return stream;
}
function begin() {
  for (const each of streams) each.close();
  for (const each of timers) clearInterval(each);
  due.clear();
  streams = [
    ...all("[data-live]").map(list => listen(list, list.dataset.live, prepend)),
    ...all("[data-follow]").map(part => listen(part, part.dataset.follow, () => due.add(part))),
  ];
  timers = all("[data-refresh]").map(part => setInterval(() => due.add(part), 1000 * part.dataset.refresh));
}
function prepend(list, event) {
  if ("paused" in list.dataset) return;
  $("[data-nothing]", list)?.remove();
  list.insertAdjacentHTML("afterbegin", trusted(event.data));
  while (list.children.length > 200) list.lastElementChild.remove();
}
const inUse = part => "paused" in part.dataset || document.hidden || part.contains(document.activeElement);
setInterval(async () => {
  for (const part of [...due].filter(each => !inUse(each))) {
    due.delete(part);
    const answer = await ask(`#${part.id}`, location.href);
    if (!answer || !part.isConnected) continue;
    if (inUse(part)) due.add(part); // Meanwhile somebody has begun to use it.
    else part.innerHTML = trusted(answer.html);
  }
}, 300);
on("click", "[data-pause]", button => {
  const part = $(button.dataset.pause), paused = part.toggleAttribute("data-paused");
  button.textContent = paused ? "Resume" : "Pause";
});
// Once the first paint is on the screen, which streams would delay: they take the processor from it.
let begun = false;
const beginOnce = () => { if (!begun) { begun = true; begin(); } };
if (globalThis.PerformanceObserver?.supportedEntryTypes?.includes("paint")) new PerformanceObserver(beginOnce).observe({ type: "paint", buffered: true });
setTimeout(beginOnce, 1000); // A page in the background is not painted.

// Review: keys of the row that has the focus, which stays there after a decision; the number in the navigation.
let rowAt = -1;
addEventListener("keydown", event => {
  if (event.target.closest?.("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey || $("dialog[open]")) return;
  const row = document.activeElement.closest("[data-row]"), button = row && $(`[data-row-key="${CSS.escape(event.key)}"]`, row);
  if (button) { event.stopPropagation(); rowAt = all("[data-row]").indexOf(row); button.click(); }
}, true);
const reviewCount = $("[data-count='review']");
const readCount = async () => {
  const answer = !document.hidden && await ask("#review-count", reviewCount.dataset.from);
  if (answer) reviewCount.textContent = answer.html;
};
function followOwner() { // The navigation is not replaced with the page: let it lead to the owner who is shown.
  const owner = new URLSearchParams(location.search).get("owner"), menu = $("select#owner");
  if (!owner || !main) return;
  const named = address => { const url = new URL(address, location); url.searchParams.set("owner", owner); return url.href; };
  for (const link of all(".nav a")) link.href = named(link.href);
  if (menu && all("option", menu).some(each => each.value === owner)) menu.value = owner;
  if (!reviewCount || named(reviewCount.dataset.from) === new URL(reviewCount.dataset.from, location).href) return;
  reviewCount.dataset.from = named(reviewCount.dataset.from);
  readCount();
}
if (main) new MutationObserver(() => {
  followOwner();
  const found = $("[data-count-of='review']", main), rows = all("[data-row]", main);
  if (found && reviewCount) reviewCount.textContent = found.textContent;
  if (rowAt >= 0) rows[Math.min(rowAt, rows.length - 1)]?.focus();
  rowAt = -1;
}).observe(main, { childList: true });
if (reviewCount) setInterval(readCount, 30_000);

// Events: what happened during a pause is read when it ends.
on("click", "[data-pause='#events']", () => { if (!("paused" in $("#events").dataset)) visit(location.href, {}, "back"); });
