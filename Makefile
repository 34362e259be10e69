# Every target sets up what it needs in .venv. Needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
  BIN := $(VENV)/Scripts
endif

.PHONY: reproduce test coverage lint format docs bench clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

# The paper's evaluation, into reproduction/; run it again to continue after an interruption.
reproduce: $(VENV)/.core
	$(BIN)/rpsr reproduce

# One thread of linear algebra per worker: more of them only wait for each other.
test: export OPENBLAS_NUM_THREADS ?= 1
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

# Which lines the tests run; measuring that makes them a good deal slower.
coverage: export OPENBLAS_NUM_THREADS ?= 1
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

bench: $(VENV)/.core
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/core_search.py
	$(BIN)/python benchmarks/core_search.py --growth
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/exact.py

clean:
	rm -rf $(VENV) build dist reproduction .pytest_cache .ruff_cache .coverage
