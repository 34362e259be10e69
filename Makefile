# Every target sets up what it needs in .venv. Needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
  BIN := $(VENV)/Scripts
endif

.PHONY: reproduce test lint format docs bench clean

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

reproduce: $(VENV)/.core
	$(BIN)/rpsr domains list

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

bench: $(VENV)/.core
	$(BIN)/python benchmarks/reading.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .coverage
