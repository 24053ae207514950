# Everything a developer, or CI, does with this repository. Needs Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps: what Mnemic itself needs is installed; what its extras need; what checks and tests need; everything is.
INSTALLED_BASE := $(VENV)/.installed-base
INSTALLED_EXTRAS := $(VENV)/.installed-extras
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
MISFIT = { echo "The pinned dependencies do not fit pyproject.toml: run 'make lock'." >&2; exit 1; }
# More arguments for pytest or the lock: `make test ARGS="-k portal"`, `make lock ARGS=--upgrade`.
ARGS ?=
# The folder with the public questions that bench-quality, bench-stores, bench-mind and bench-qa ask (docs/benchmarks.md).
DATA ?= bench/data

# Some environments forbid Python to keep compiled files. The tests start some 150 processes, and each of them
# would compile all of Mnemic again: 0.4 s of CPU time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup browser test test-slow test-postgres test-clients lint format demo generate version-fixture lock clean
.PHONY: bench-proxy bench-start bench-tenancy bench-write bench-quality bench-stores bench-mind bench-qa bench-speed bench-load bench-dashboard bench-hostile bench-queue bench-context

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED)  ## Install everything into .venv (the other targets install what they need)

browser:  ## Install the browser that tests the dashboard: Debian's chromium
	@tools/install_browser.sh

test: $(INSTALLED)  ## Run all checks and all tests
ifdef ARGS
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m pytest $(ARGS)
else
	@$(MAKE) --no-print-directory --jobs $(PARTS_AT_ONCE) $(OUTPUT_SYNC) \
	  lint $(PARTS)
endif

# The suite in parts, for `make test` to run some at once and beside the checks, the longest first. Each part waits
# now and then, so two more than the machine has cores keep it busy; with more of them tests only wait for each other.
# The SDK's part comes after the checks: one of its tests needs what mypy keeps of them.
PARTS := test-attack test-record test-proxy test-commands test-foundation test-machinery test-sdk test-dashboard test-agents test-server
PARTS_AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
ATTACKS := tests/attacks
DASHBOARD := tests/dashboard
PROXY := tests/proxy tests/context
SERVER := tests/conformance tests/newcomer tests/server
AGENTS := tests/adapters tests/docs tests/importers tests/mcp
COMMANDS := tests/cli tests/backup
FOUNDATION := tests/bench tests/db tests/embedded tests/sql
MACHINERY := tests/documents tests/events tests/jobs tests/observe tests/embeddings tests/schedules tests/webhooks
SDK := tests/sdk
OUTPUT_SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
PYTEST = $(BIN)/python -m pytest --quiet -o cache_dir=.pytest_cache/$@
.PHONY: $(PARTS)
$(PARTS): $(INSTALLED)
test-dashboard:
	@$(PYTEST) $(DASHBOARD)
test-proxy:
	@$(PYTEST) $(PROXY)
test-server:
	@$(PYTEST) $(SERVER)
test-agents:
	@$(PYTEST) $(AGENTS)
test-commands:
	@$(PYTEST) $(COMMANDS)
test-machinery:
	@$(PYTEST) $(MACHINERY)
test-foundation:
	@$(PYTEST) $(FOUNDATION)
test-attack:  ## Run the attacks on tenants, owners, inputs and files, and count them by kind
	@$(PYTEST) $(ATTACKS)
test-record:
	@$(PYTEST) $(addprefix --ignore=,$(ATTACKS) $(PROXY) $(DASHBOARD) $(SERVER) $(AGENTS) $(COMMANDS) $(MACHINERY) $(FOUNDATION) $(SDK))
test-sdk: lint
	@$(PYTEST) $(SDK)

# Every folder that has a test which says so in its reason for being skipped, or runs more examples there.
SLOW := tests/attacks tests/curation tests/dashboard tests/db tests/documents tests/embedded tests/events tests/jobs tests/embeddings tests/govern tests/recall tests/record tests/retain tests/server
test-slow: $(INSTALLED)  ## Run also the tests that take minutes: kills, many items, many jobs
	@SLOW_TESTS=1 $(BIN)/python -m pytest -o faulthandler_timeout=900 $(SLOW) $(ARGS)
	@$(MAKE) --no-print-directory test-postgres

# Debian: apt-get install postgresql-15, and pgvector for it: the package postgresql-15-pgvector of the PostgreSQL project,
# or built with postgresql-server-dev-15. Folders that run on the server under test (tests/postgres_binaries.py).
OTHER_POSTGRES := /usr/lib/postgresql/15/bin
ON_OTHER_POSTGRES := tests/db tests/sql tests/backup tests/retain tests/recall tests/govern
test-postgres: $(INSTALLED)  ## Run the tests of the database on another PostgreSQL; OTHER_POSTGRES=its folder of programs
	@if [ ! -e $(OTHER_POSTGRES)/initdb ]; then \
	  echo "Skipped: there is no PostgreSQL in $(OTHER_POSTGRES). Install it, or set OTHER_POSTGRES."; \
	elif [ ! -e "$$($(OTHER_POSTGRES)/pg_config --sharedir)/extension/vector.control" ]; then \
	  echo "Skipped: the PostgreSQL in $(OTHER_POSTGRES) has no pgvector."; \
	else \
	  MNEMIC_TEST_POSTGRES_BIN=$(OTHER_POSTGRES) $(BIN)/python -m pytest $(ON_OTHER_POSTGRES) $(ARGS); \
	fi

test-clients: $(INSTALLED)  ## Drive Claude Code, opencode, codex and pi through the proxy: 1,000 turns; needs npm
	@$(BIN)/python -m tests.clients $(ARGS)

lint: $(INSTALLED)  ## Check style, types, layers and the generated code
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo "Not formatted: run 'make format'." >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/generate_sync.py --check
	@$(BIN)/python tools/generate_docs.py --check
	@$(BIN)/python tools/readme_figures.py --check
	@$(BIN)/python tools/freeze_migrations.py --check

format: $(INSTALLED)  ## Format the code and repair what can be repaired
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format

demo: $(INSTALLED_BASE)  ## See Mnemic at work on a PostgreSQL of its own
	@$(BIN)/mnemic demo

bench-start: $(INSTALLED)  ## Measure how long starting and importing take
	@$(BIN)/python bench/start.py

bench-tenancy: $(INSTALLED)  ## Measure what row-level security costs
	@$(BIN)/python bench/tenancy.py

bench-write: $(INSTALLED)  ## Measure how fast memories are written, beside mem0, Chroma and LangGraph
	@$(BIN)/python -m bench.write $(ARGS)

bench-quality: $(INSTALLED)  ## Measure how well recall finds what matters; DATA=folder with the questions
	@$(BIN)/python -m bench.quality "$(DATA)" $(ARGS)

bench-stores: $(INSTALLED)  ## Measure recall in the stores that people build, beside cosine and BM25; DATA=folder
	@$(BIN)/python -m bench.stores "$(DATA)" $(ARGS)

bench-mind: $(INSTALLED)  ## Measure facts that change and statements from dialogues; DATA=folder; with LLM=provider:model, by it
	@$(BIN)/python -m $(if $(LLM),bench.mind_llm,bench.mind) "$(DATA)" $(if $(LLM),--llm "$(LLM)") $(ARGS)

bench-context: $(INSTALLED)  ## Measure what context paging saves and misses, beside other ways; DATA=folder with transcripts
	@$(BIN)/python -m bench.context.run "$(DATA)" $(ARGS)

bench-qa: $(INSTALLED)  ## Measure question answering; DATA=folder LLM=provider:model; shows the cost first
	@$(if $(LLM),,echo "Name the model that answers: make bench-qa DATA=folder LLM=provider:model" >&2; exit 2)
	@$(BIN)/python -m bench.qa "$(DATA)" --llm "$(LLM)" $(ARGS)

bench-speed: $(INSTALLED)  ## Measure how fast recall is, beside mem0, Chroma and LangGraph; DATA=folder with LoCoMo
	@$(BIN)/python -m bench.speed $(if $(wildcard $(DATA)),--data "$(DATA)") $(ARGS)

bench-load: $(INSTALLED)  ## Measure a server under load, beside the same calls in-process
	@$(BIN)/python -m bench.load $(ARGS)

bench-dashboard: $(INSTALLED)  ## Measure the pages of the dashboard at 100,000 memories: CPU, latency, size, first paint
	@$(BIN)/python -m bench.dashboard $(ARGS)

bench-hostile: $(INSTALLED)  ## Measure what hostile clients do to the other tenants of a server
	@$(BIN)/python -m bench.hostile $(ARGS)

bench-proxy: $(INSTALLED)  ## Measure what the proxy costs a request of 1 MB, beside a plain pass-through
	@$(BIN)/python -m bench.proxy $(ARGS)

bench-queue: $(INSTALLED)  ## Measure the queue, beside procrastinate and pgqueuer
	@$(BIN)/python -m bench.queue_speed $(ARGS)

generate: $(INSTALLED)  ## Write the synchronous Memory, the reference pages and schema.sql; freeze new migrations
	@$(BIN)/python tools/freeze_migrations.py
	@$(BIN)/python tools/generate_sync.py
	@$(BIN)/python tools/generate_docs.py
	@$(BIN)/python tools/readme_figures.py
	@$(BIN)/python tools/generate_schema.py

version-fixture: $(INSTALLED)  ## Keep data of the committed version (or COMMIT=…) for the tests of later ones
	@$(BIN)/python tools/make_version_fixture.py $(COMMIT)

lock:  ## Pin every dependency of pyproject.toml in constraints.txt, -extras.txt and -dev.txt
	@PYTHON="$(PYTHON)" tools/lock.sh $(ARGS)

clean:  ## Remove the environment and everything that was generated beside the code
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is brought up to date in place: what runs in it meanwhile goes on running. The demo needs the
# base dependencies only, about a third of all; the other targets add the rest.
$(INSTALLED_BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Mnemic needs Python 3.11 or newer, and '$(PYTHON)' is not:" >&2; \
	  echo "name one that is, for example: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing Mnemic into $(VENV) …"
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python tools/install.py constraints.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
# Looks only at what Mnemic itself needs: packages of the dev group may still wait for their own step.
	@! $(PIP) check | grep '^mnemic ' >&2 || $(MISFIT)
	@touch $@

# The two lists have no package in common, so that with --jobs they are installed at the same time.
$(INSTALLED_EXTRAS): $(INSTALLED_BASE) constraints-extras.txt
	@echo "Adding to $(VENV) what the extras need …"
	@$(BIN)/python tools/install.py constraints-extras.txt
	@touch $@

$(INSTALLED_DEV): $(INSTALLED_BASE) constraints-dev.txt
	@echo "Adding to $(VENV) what checks and tests need …"
	@$(BIN)/python tools/install.py constraints-dev.txt
	@touch $@

$(INSTALLED): $(INSTALLED_EXTRAS) $(INSTALLED_DEV)
	@found=$$($(PIP) check) || { echo "$$found" >&2; $(MISFIT); }
	@touch $@
