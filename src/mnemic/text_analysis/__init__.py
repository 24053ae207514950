"""Reading text by rules: names, times, matching of known names."""
