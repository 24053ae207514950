#!/usr/bin/env bash
# Install the browser that the tests of the dashboard drive: Debian's chromium. Does nothing if there is one already.
# tests/dashboard/browsing.py looks for it in the same places.
set -euo pipefail

for found in "${MNEMIC_TEST_BROWSER:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
  if [ -n "$found" ] && [ -x "$found" ]; then
    echo "The browser for the tests is $found."
    exit 0
  fi
done

as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo --non-interactive); fi

# Ubuntu's package of this name installs a snap, which has no program that the tests could start.
if [ -e /etc/debian_version ] && ! grep -qs '^ID=ubuntu' /etc/os-release && "${as_root[@]}" true 2>/dev/null; then
  echo "Installing chromium for the tests of the dashboard …"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  export DEBIAN_FRONTEND=noninteractive
  install() { "${as_root[@]}" apt-get install --quiet --yes --no-install-recommends chromium; }
  # The list of packages may be old, or missing in a container.
  if install >"$log" 2>&1 || { "${as_root[@]}" apt-get update --quiet && install; } >"$log" 2>&1; then
    exit 0
  fi
  tail -n 20 "$log" >&2
fi
echo "The tests of the dashboard need Chromium: install the package 'chromium', or set MNEMIC_TEST_BROWSER to the" \
  "program of an installed Chromium or Chrome." >&2
exit 1
