# From a fresh clone: `make run` runs the demo, `make test` the tests; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PAPER := jester_supervised jester_semi_supervised movielens_supervised \
	movielens_semi_supervised jester_crrp
REFERENCE_USERS := 10 15 20 30 50 100 200 300

.PHONY: help run test data paper inferred inference ablations tables check report bench docs lint format \
	wheel clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml rankpursuit/__init__.py
	$(PYTHON) -m venv $(VENV)
	@echo 'Setting up $(VENV), once: pip fetches numpy, scipy, scikit-learn, matplotlib and tools for'
	@echo 'development, which takes a minute or more. It names each package as it goes.'
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --editable '.[dev]'
	@touch $(READY)

run: $(READY)  ## set up, run every algorithm on built-in ratings, print the tables
	$(BIN)/rp-run demo
	@echo 'To use rp-run and the other commands in this shell: . $(BIN)/activate'
	@echo 'A web page of these results, with figures: rp-report results/demo'

data: $(READY)  ## download Jester and MovieLens and verify them
	$(BIN)/rp-data fetch jester movielens
	$(BIN)/rp-data verify

paper: $(READY)  ## run the paper's tables at full size; resumable; in a clone OPTIONS=--fresh
	$(BIN)/rp-run $(PAPER:%=configs/%.yaml) $(OPTIONS)

inferred: $(READY)  ## the tables with the set-up that their figures are consistent with; resumable
	$(BIN)/rp-run configs/inferred/*.yaml --output results/inferred $(OPTIONS)

inference: $(READY)  ## infer the paper's set-up from its figures; resumable
	@for number in $(REFERENCE_USERS); do \
		$(BIN)/rp-run configs/inference/*.yaml --set protocol.reference_users=$$number \
			--output results/inference/$$number $(OPTIONS) || exit 1; \
	done
	$(BIN)/python scripts/study.py inference

ablations: $(READY)  ## what is behind the claims that fail; resumable
	$(BIN)/rp-run configs/ablations/*.yaml --output results/ablations $(OPTIONS)
	$(BIN)/python scripts/study.py ablations

test: $(READY)  ## set up and run the tests
	$(BIN)/python -m pytest -n auto

bench: $(READY)  ## measure speed and growth against their goals, into results/benchmarks.md
	$(BIN)/python scripts/bench.py --markdown results/benchmarks.md

$(VENV)/.docs: $(READY)
	@echo 'Setting up the tools of the documentation, once: pip takes a minute or more.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## build guide, examples and reference into docs/_build/html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

lint: $(READY)  ## style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

tables: $(READY)  ## make the tables of everything in results/
	$(BIN)/rp-tables --compare

check: $(READY)  ## check everything in results/ against the paper
	$(BIN)/rp-check
	@if test -e results/inferred/expected.yaml; then \
		$(BIN)/rp-check results/inferred --expected results/inferred/expected.yaml; fi

report: $(READY)  ## make report.html of everything in results/
	$(BIN)/rp-report

wheel: $(READY)  ## build the package, and try it in an empty folder and environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python scripts/try_wheel.py dist/*.whl

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist \
		docs/_build docs/auto_examples docs/generated
