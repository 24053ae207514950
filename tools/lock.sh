#!/usr/bin/env bash
# Write constraints.txt: the version and the hashes of everything that pyproject.toml asks for (with
# all extras and the dev group), directly or not, for Python 3.11 and newer on every platform.
# Versions stay as they are unless they no longer fit; `--upgrade` takes the newest of each.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv

# Names, versions and hashes only: where they are downloaded from is for each machine to say. Wheels
# only, because building from source would fetch build tools that nobody has pinned.
"$venv/bin/uv" pip compile pyproject.toml --group dev --all-extras \
  --universal --python-version 3.11 --generate-hashes --only-binary :all: \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
  --quiet --output-file constraints.txt "$@"
