# Every target sets up what it needs; a second run finds it there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test check bench clean compiled

demo: compiled
	@$(BIN)/python examples/demo.py

test: check compiled .venv/.node
	$(BIN)/python -m pytest -q -n auto --dist worksteal

check: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every table is shown, also when an earlier one missed a budget.
bench: compiled .venv-bench/.installed
	@missed=0; \
	for one in parsing charts reading journal items commands agents; do \
		echo "-- $$one"; $(BIN)/python benchmarks/$$one.py || missed=1; \
	done; \
	echo "-- peers"; .venv-bench/bin/python benchmarks/peers.py || missed=1; \
	exit $$missed

clean:
	rm -rf .venv .venv-bench build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	@touch $@

# The peers that we are measured against, apart from what the project itself needs.
.venv-bench/.installed: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement benchmarks/requirements.txt --editable .
	@touch $@

# Bytecode as an installed wheel would have it, also where Python is told not to write any.
compiled: .venv/.installed
	@$(BIN)/python -m compileall -q src

# The real mermaid and Graphviz, which judge what `quandary show` draws.
.venv/.node: tests/node/package.json | .venv/.installed
	npm install --prefix tests/node --no-package-lock --no-audit --no-fund --silent
	@touch $@
