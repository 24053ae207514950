#!/usr/bin/env bash
# Pin all direct and indirect dependencies in pyproject.toml, for Python 3.11 and newer on every platform:
# constraints.txt lists the dependencies of Mnemic itself and of its build, constraints-extras.txt those that the
# extras add, and constraints-dev.txt those that only the dev group adds. Versions change only if they no longer
# fit; `--upgrade` upgrades all of them.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv

# Names, versions and hashes only: each machine configures its own package index. Wheels only, because
# building from source would download build tools that are not pinned.
compile() {
  "$work/venv/bin/uv" pip compile pyproject.toml \
    --universal --python-version 3.11 --generate-hashes --only-binary :all: \
    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet "$@"
}

# uv keeps the versions that it finds in the file it writes: those of the last lock, and then for the
# base those of the whole.
cat constraints.txt constraints-extras.txt constraints-dev.txt >"$work/all.txt"
compile --group dev --all-extras --output-file "$work/all.txt" "$@"
cp "$work/all.txt" "$work/users.txt"
compile --group build --all-extras --output-file "$work/users.txt"
cp "$work/all.txt" "$work/base.txt"
compile --group build --output-file "$work/base.txt"

# An entry begins with "name==version ; marker". The marker counts: a package that the extras need on more
# platforms than the base does stands in both files.
added() {
  awk 'NR == FNR { if (/^[^ #]/) base[$0]; next }
       /^[^ ]/ { added = !($0 in base) }
       added' "$1" "$2"
}
added "$work/base.txt" "$work/users.txt" >"$work/extras.txt"
added "$work/users.txt" "$work/all.txt" >"$work/dev.txt"

cp "$work/base.txt" constraints.txt
cp "$work/extras.txt" constraints-extras.txt
cp "$work/dev.txt" constraints-dev.txt
