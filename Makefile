# From a fresh clone: `make run` runs the demo, `make test` the tests; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off

PAPER := jester_supervised jester_semi_supervised movielens_supervised \
	movielens_semi_supervised jester_crrp
UNLOCKED := $(BIN)/python -m pip freeze | grep -ivxFf - requirements.lock | grep == && \
	echo 'The reference was made with these versions, others are installed: last digits may differ.' || true
FEATURES := user-20 user-50 user-100 user-300 set-20 set-50 set-100 set-300 items-300

.PHONY: help run test test-all test-lowest data paper inferred inference interpretations by-user ablations tables check check-full report bench docs \
	lint format wheel release-check set-home clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml rankpursuit/__init__.py
	$(PYTHON) -m venv $(VENV)
	@echo 'Setting up $(VENV), once: pip fetches numpy, scipy, scikit-learn, matplotlib and others,'
	@echo 'which takes a minute or less. It names each package as it goes.'
	$(PIP) --editable .
	@touch $(READY)

$(DEV): $(READY)
	@echo 'Setting up the tools for development, once.'
	$(PIP) --quiet --editable '.[dev]'
	@touch $(DEV)

run: $(READY)  ## set up, run every algorithm on built-in ratings, print the tables
	$(BIN)/rp-run demo
	@echo 'To use rp-run and the other commands in this shell: . $(BIN)/activate'

data: $(READY)  ## download Jester and MovieLens and verify them
	$(BIN)/rp-data fetch jester movielens
	$(BIN)/rp-data verify

paper: $(READY)  ## run the paper's tables at full size into results/; resumable
	@$(UNLOCKED)
	$(BIN)/rp-run $(PAPER:%=configs/%.yaml) $(OPTIONS)

inferred: $(READY)  ## the tables with the set-up that their figures are consistent with; resumable
	@$(UNLOCKED)
	$(BIN)/rp-run configs/inferred/*.yaml --output results/inferred $(OPTIONS)

inference: $(READY)  ## infer the paper's set-up from its figures; resumable
	@for one in $(FEATURES); do \
		$(BIN)/rp-run configs/inference/*.yaml --set protocol.fill_over=$${one%-*} \
			--set protocol.reference_users=$${one#*-} --output results/inference/$$one $(OPTIONS) || exit 1; \
	done
	$(BIN)/python scripts/study.py inference

interpretations: $(READY)  ## what each interpretation of the paper changes; resumable
	$(BIN)/python scripts/study.py interpretations

by-user: $(READY)  ## the inferred set-up with parameters chosen for each user; resumable
	$(BIN)/rp-run configs/inferred/movielens_semi_supervised.yaml configs/inferred/jester_semi_supervised.yaml \
		--set tuning_on=user --set seed=2027 --output results/by_user $(OPTIONS)
	$(BIN)/python scripts/study.py by-user

ablations: $(READY)  ## what is behind the claims that fail; resumable
	$(BIN)/python scripts/study.py ablations

test: $(DEV)  ## set up and run the tests, without hostile input and the browser
	$(BIN)/python -m pytest -n auto -m 'not fuzz and not browser'

test-all: $(DEV)  ## run all tests, with hostile input and the report in a browser
	$(BIN)/python -m pytest -n auto

LOWEST := .venv-lowest
test-lowest:  ## run the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
		--resolution lowest-direct --editable '.[dev]'
	$(LOWEST)/bin/python -m pytest -n auto -m 'not fuzz and not browser'

bench: $(DEV)  ## measure speed and growth against their goals, into results/benchmarks.md
	$(BIN)/python scripts/bench.py --write

$(VENV)/.docs: $(READY)
	@echo 'Setting up the tools of the documentation, once: pip takes a minute or more.'
	$(PIP) --quiet --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## build guide, examples and reference into docs/_build/html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

lint: $(DEV)  ## style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

tables: $(READY)  ## make the paper's tables, of your own runs or the reference, into results/tables
	$(BIN)/rp-tables --compare

check: $(READY)  ## check the reference against the paper and one repeat computed again
	$(BIN)/rp-check --recompute 1
	$(BIN)/rp-check --inferred

check-full: $(READY)  ## the same with all ten repeats, and the inferred set-up
	$(BIN)/rp-check --recompute 10
	$(BIN)/rp-check --inferred --recompute 10

report: $(READY)  ## make report.html of the paper's tables, of your own runs or the reference
	$(BIN)/rp-report

wheel: $(DEV)  ## build the package, and try it in an empty folder and environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python scripts/try_wheel.py dist/*.whl

release-check: wheel  ## check what a release would publish: version, wheel, sdist, metadata, README
	$(PIP) --quiet twine
	$(BIN)/python -m twine check --strict dist/*
	@grep -qF '__version__ = "$(TAG:v%=%)"' rankpursuit/__init__.py || test -z '$(TAG)' || \
		{ echo 'the tag $(TAG) is not the version of the package'; exit 1; }
	@! grep -qF github.com/OWNER pyproject.toml || { echo 'before a release: make set-home HOME_URL=https://...'; \
		test -z '$(TAG)'; }

set-home:  ## set the address of the project in all files: make set-home HOME_URL=https://...
	@test -n '$(HOME_URL)' || { echo 'HOME_URL=https://... is missing'; exit 1; }
	git grep -lF https://github.com/OWNER/rankpursuit -- ':!Makefile' ':!tests' | xargs sed -i 's|https://github.com/OWNER/rankpursuit|$(HOME_URL)|g'

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) $(LOWEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist \
		docs/_build docs/auto_examples docs/generated
