# From a fresh clone: `make test` passes the tests; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help test lint format tables check report clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml rankpursuit/__init__.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

test: $(READY)  ## set up and run the tests
	$(BIN)/python -m pytest

lint: $(READY)  ## style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

tables: $(READY)  ## make the tables of everything in results/
	$(BIN)/rp-tables

check: $(READY)  ## check everything in results/ against the paper
	$(BIN)/rp-check

report: $(READY)  ## make report.html of everything in results/
	$(BIN)/rp-report

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
