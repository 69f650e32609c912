PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench docs house clean

# each command installs the extras it needs, once
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	touch $@

$(VENV)/.with-%: pyproject.toml $(VENV)/.made
	$(BIN)/pip install --quiet -e ".[$*]"
	touch $@

demo: $(VENV)/.with-cli
	$(BIN)/maxmargin demo

test: $(VENV)/.with-test
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.with-bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.with-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

# figures that keep the source tree in order; fails where a bound is broken
house: $(VENV)/.with-cli
	$(BIN)/python tools/house.py

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache docs/_build docs/auto_examples
	rm -rf docs/reference/generated docs/reference/backreferences docs/reference/api.md docs/sg_execution_times.rst
