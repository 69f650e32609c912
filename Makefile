PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: demo test soak lint bench docs house peers mutants coverage hooks clean cold

# Each command installs the extras it needs, once.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.with-%: pyproject.toml $(VENV)/.made
	$(BIN)/python -m pip install --quiet -e ".[$*]"
	touch $@

demo: $(VENV)/.with-cli
	$(BIN)/maxmargin warmup --only svc --only tuning --only selection
	$(BIN)/maxmargin demo

# worksteal: a worker takes whole folders, so that few fixtures and functions are made or compiled twice
test: $(VENV)/.with-test
	$(BIN)/python -m pytest -n auto --dist worksteal

# The suite again and again with other seeds, orders, workers and processors: make soak TIMES=20
TIMES ?= 20
soak: $(VENV)/.with-test
	$(BIN)/python tools/soak.py --times $(TIMES) $(ROOMS)

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.with-bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --page

# Compile time of the first calls, each with an empty cache; fails above a budget.
cold: $(VENV)/.with-cli
	$(BIN)/python tools/cold.py

docs: $(VENV)/.with-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

# slow; "python tools/mutants.py metrics" runs one group
mutants: $(VENV)/.with-test
	$(BIN)/python tools/mutants.py

# scikit-learn's own tests with our classes behind its imports; "python tools/peers.py rfe" runs some of them
peers: $(VENV)/.with-test
	$(BIN)/python tools/peers.py

# Prints the figures of the source tree; fails where a bound is broken.
house: $(VENV)/.with-cli
	$(BIN)/python tools/house.py

# The test suite with coverage; jitted functions run as machine code and are left out.
coverage: $(VENV)/.with-test
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term --cov-report=html
	@echo "The coverage report is in htmlcov/index.html"

# Runs ruff and mypy before every commit, and checks the length of its subject.
hooks: $(VENV)/.with-lint
	$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .coverage htmlcov docs/_build docs/auto_examples
	rm -rf docs/reference/generated docs/reference/backreferences docs/reference/api.md docs/sg_execution_times.rst
