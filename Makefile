# The way in: `make` lists the targets. Everything is installed into .venv, from requirements.lock.
# Written for any make since 3.81 and a POSIX shell.

VENV := .venv
BIN := $(VENV)/bin
PYTHON_MIN := 3.11
# The first of these that is new enough makes the environment; `make setup PYTHON=/path/to/python` overrules the search.
PYTHON := python3 python3.14 python3.13 python3.12 python3.11
# The resolver behind `make lock`. It is fetched when asked for, because nobody else needs it.
UV_VERSION := 0.13.7
INSTALLED := $(VENV)/.installed
# Errors only: pip's warnings here are about its own version and about a machine's extra indexes.
PIP_QUIETLY := -qq --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# Passed on to the command behind a target: make test ARGS="-k covering".
ARGS ?=
BASE ?= main

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-full check bench bench-compare reproduce soak lock format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED)  ## Make .venv and install the locked dependencies and the project (instant when nothing changed)

# Both targets below are files, so make itself knows when there is nothing to do. The environment is made apart from
# what is installed in it: `make lock` needs the former only, and must work when the lock is stale.
$(BIN)/python:
	@found=; for name in $(PYTHON); do \
	    if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Siftcast needs Python $(PYTHON_MIN) or newer; found none under: $(PYTHON)." >&2; \
	    echo "Install one, or name it: make setup PYTHON=/path/to/python$(PYTHON_MIN)" >&2; \
	    exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

$(INSTALLED): requirements.lock pyproject.toml $(BIN)/python
	@echo "Installing the locked dependencies into $(VENV) (about a minute the first time)"
	@$(BIN)/python -m pip install $(PIP_QUIETLY) --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install $(PIP_QUIETLY) --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup  ## Show what Siftcast does, in the terminal
	@$(BIN)/siftcast demo $(ARGS)

test: setup  ## Run the tests, but for those that take long (ARGS="-k name" to choose)
	$(PYTEST) -n auto -m "not full" $(ARGS)

test-full: setup  ## Run the tests that `make test` leaves out
	$(PYTEST) -n auto -m full $(ARGS)

check: setup  ## Check lint, format, types, layers and tidiness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -q tests/test_tidy.py

bench: setup  ## Run the benchmarks (ARGS=--quick for the short ones)
	$(BIN)/python -m benchmarks $(ARGS)

bench-compare: setup  ## Compare the benchmarks of the work tree with those of BASE=main
	$(BIN)/python scripts/bench_compare.py $(BASE) $(ARGS)

reproduce: setup  ## Regenerate the papers' experiments (resumes; ARGS=--quick for a short look)
	$(BIN)/siftcast reproduce lookup-reuse $(ARGS)
	$(BIN)/siftcast reproduce kyra $(ARGS)
	$(BIN)/siftcast reproduce clustering $(ARGS)
	$(BIN)/siftcast reproduce rendezvous $(ARGS)
	$(BIN)/siftcast reproduce homed $(ARGS)
	$(BIN)/siftcast reproduce qos $(ARGS)
	$(BIN)/siftcast reproduce underlay $(ARGS)

soak: setup  ## Run the tests with many random examples (takes long)
	HYPOTHESIS_PROFILE=soak $(PYTEST) -n auto $(ARGS)

format: setup  ## Format the code and apply the safe lint fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: $(BIN)/python  ## Rewrite requirements.lock from pyproject.toml (ARGS=--upgrade to move to newer versions)
	@$(BIN)/python -m pip install $(PIP_QUIETLY) uv==$(UV_VERSION)
	$(BIN)/uv pip compile --quiet --no-config --universal --python-version $(PYTHON_MIN) --fork-strategy fewest \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    --group dev --output-file requirements.lock pyproject.toml $(ARGS)

clean:  ## Remove caches and build output (.venv stays)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
