# Two commands do all the set-up: `make run` and `make test`. `make help` lists the rest.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= auto
SAMPLE ?= 25
ARGS ?=

BIN := $(VENV)/bin
MADE := $(VENV)/.made
CORE := $(VENV)/.installed-core
DEV := $(VENV)/.installed-dev
PROJECT := pyproject.toml src/burn/version.py
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-all check lint format types parity bench docs clean distclean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

run: $(CORE) ## Install what is needed, then train, save, reload, import and fine-tune, offline
	@$(BIN)/python -m examples.story $(ARGS)

test: $(DEV) ## What CI runs: every test once, then a sample under lesser instruction sets (ARGS="-k name" narrows it)
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m tests.instruction_sets --sample $(SAMPLE) -n $(WORKERS))

test-fast: $(DEV) ## Run the tests that are not marked slow
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(ARGS)

test-all: export BURN_TEST_ALL = 1
test-all: $(DEV) ## Every test under every instruction set that the processor has: hours on two cores
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)
	$(BIN)/python -m tests.instruction_sets -n $(WORKERS) -- $(ARGS)

check: test lint types ## Everything that has to be green: tests, lint, types

lint: $(DEV) ## Check style and formatting with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEV) ## Rewrite files in the project's format and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEV) ## Check the package with mypy --strict and the typing cases with pyright
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python

parity: $(CORE) ## Compare the public names with the list of Burn's
	@$(BIN)/python -m burn.tools.parity $(ARGS)

bench: $(DEV) ## Measure dispatch, then us against every installed peer (ARGS="run softmax --quick" narrows it)
	@$(if $(ARGS),$(BIN)/python -m benches $(ARGS),$(BIN)/python -m benches.dispatch && $(BIN)/python -m benches run)

docs: $(DEV) ## Run every code block of the documentation
	$(BIN)/python -m pytest tests/docs $(ARGS)

clean: ## Remove caches and build results
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benches -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove the virtual environment too
	rm -rf $(VENV)

# The environment. A stamp is as new as the project files it was installed from, so a second run
# installs nothing. The dev extra contains the core, so it renews both stamps.

$(MADE):
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) was not found; install Python 3.11 or newer, or write make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1); write make PYTHON=python3.11" >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(CORE): $(PROJECT) | $(MADE)
	@echo "installing burn-dl into $(VENV)"
	@$(PIP) install -e '.[cpu,train,serve]'
	@touch $@

$(DEV): $(PROJECT) | $(MADE)
	@echo "installing burn-dl[dev] into $(VENV); the first time this takes a few minutes"
	@$(PIP) install -e '.[dev]'
	@touch $(CORE) $@
