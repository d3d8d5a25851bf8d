# Every target sets up what it needs; a second run finds it there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test check bench load stress pictures clean compiled hosts

demo: .venv/.ready
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python examples/demo.py

test: check compiled .venv/.node .venv/.chromium
	$(BIN)/python -m pytest -q -n auto --dist worksteal

check: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every table is shown, also when an earlier one missed a budget.
bench: compiled .venv-bench/.installed
	@missed=0; \
	for one in parsing charts reading journal items commands agents walking inbox serving waiting triage; do \
		echo "-- $$one"; $(BIN)/python benchmarks/$$one.py || missed=1; \
	done; \
	for one in peers postgres_peers fleet_peers; do \
		echo "-- $$one"; .venv-bench/bin/python benchmarks/$$one.py || missed=1; \
	done; \
	exit $$missed

# 200 open pages and 50 replies a second for a minute: no error, nobody left out, memory flat.
load: compiled
	@$(BIN)/python tests/pressure.py --seconds 60

# Workers killed, servers restarted, a million runs, an hour's work: `make stress ARGS="a --runs 500"`.
stress: compiled
	@PYTHONPATH=tests $(BIN)/python -m stress $(ARGS)

# The journal under faults, each history from one seed: `make simulate SEED=123`, `PLANT=all`.
SEEDS ?= 1000
SEED ?=
ONLY ?=
PLANT ?=
.PHONY: simulate
simulate: compiled
	@PYTHONPATH=tests $(BIN)/python -m simulation --seeds $(SEEDS) $(if $(SEED),--seed $(SEED)) \
		--only '$(ONLY)' --plant '$(PLANT)'

# Two real servers, commands and workers with real faults, for so many SECONDS on each kind of store;
# what everybody saw is judged as a simulated history is, and FILE=… judges one again.
FILE ?=
.PHONY: histories
histories: compiled
	@PYTHONPATH=tests $(BIN)/python -m simulation.histories --seconds $(SECONDS) \
		$(if $(FILE),--file '$(FILE)')

# Every picture of the documentation, taken from the real program.
pictures: compiled .venv/.chromium
	@$(BIN)/python examples/pictures.py

# The real clients, from npm into .venv/hosts, against a model on loopback.
hosts: compiled
	@PYTHONPATH=tests $(BIN)/python -m hosts

# The programs of docs/adapters.md, each with its real framework and a model on loopback.
.PHONY: adapters
adapters: .venv-adapters/.installed
	@.venv-adapters/bin/python -m mypy --strict --cache-dir .venv-adapters/mypy --config-file= \
		-p quandary.adapters
	@PYTHONPATH=tests .venv-adapters/bin/python -m adapters $(ONLY)

# The wheel, installed for real: with each extra alone, by pipx and by uvx.
.PHONY: wheel
wheel: .venv/.installed
	@rm -rf build/wheel && $(BIN)/python -m hatchling build -t wheel -d build/wheel >/dev/null
	@for extra in '' '[fleet]' '[mcp]' '[postgres]' '[terminal]' '[web]' '[all]'; do \
		$(PYTHON) -m venv --clear build/wheel/fresh && \
		build/wheel/fresh/bin/python -m pip install --quiet --disable-pip-version-check \
			"$$(echo build/wheel/*.whl)$$extra" && \
		echo "quandary$$extra: $$(build/wheel/fresh/bin/quandary --version)" && \
		build/wheel/fresh/bin/quandary check --strict examples/trees || exit 1; \
	done
	@$(PYTHON) -m venv --clear build/wheel/tools && build/wheel/tools/bin/python -m pip install \
		--quiet --disable-pip-version-check pipx uv
	@echo "pipx: $$(build/wheel/tools/bin/pipx run --spec build/wheel/*.whl quandary --version)"
	@echo "uvx: $$(build/wheel/tools/bin/uvx --from build/wheel/*.whl quandary --version)"

# Every reader fed with whatever a machine can think of, so many SECONDS each; TARGETS picks some.
SECONDS ?= 60
.PHONY: fuzz
fuzz: compiled .venv-fuzz/.installed
	@PYTHONPATH=tests:.venv-fuzz/packages $(BIN)/python -m fuzz --seconds $(SECONDS) $(TARGETS)

# What `make test` tries with the same examples every time, with new ones and many more.
.PHONY: properties
properties: compiled .venv/.chromium
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile=fresh -m hypothesis

clean:
	rm -rf .venv .venv-adapters .venv-bench .venv-fuzz build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The program by itself, which is all that a look at it needs.
.venv/.ready: pyproject.toml
	@echo "Setting up .venv; this takes a moment, once."
	@$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# And with everything that its doors and its tests need.
.venv/.installed: .venv/.ready
	@echo "Installing what the tests need; this takes a minute or two, once."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	@touch $@

# The peers that we are measured against, apart from what the project itself needs.
.venv-bench/.installed: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement benchmarks/requirements.txt --editable .
	@touch $@

# The frameworks that the adapters serve; their wheels are large.
.venv-adapters/.installed: tests/adapters/requirements.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-adapters
	.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement tests/adapters/requirements.txt --editable .
	@touch $@

# Bytecode as an installed wheel would have it, also where Python is told not to write any.
compiled: .venv/.installed
	@$(BIN)/python -m compileall -q src

# The real mermaid and Graphviz, which judge what `quandary show` draws.
.venv/.node: tests/node/package.json | .venv/.installed
	@if command -v npm >/dev/null; then \
		npm install --prefix tests/node --no-package-lock --no-audit --no-fund --silent; \
	else \
		echo "There is no npm on the PATH: install Node, or what it judges is not tested."; \
	fi
	@touch $@

# The real browser, in which the pages are tried.
.venv/.chromium: | .venv/.installed
	@if command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
			--no-install-recommends chromium >/dev/null; \
	else \
		echo "There is no chromium on the PATH: install it, or the tests of the pages are skipped."; \
	fi
	@touch $@

# Where there is no atheris for this Python or system, Hypothesis makes the inputs.
.venv-fuzz/.installed: | .venv/.installed
	@mkdir -p .venv-fuzz && echo '*' > .venv-fuzz/.gitignore
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--target .venv-fuzz/packages 'atheris==3.0.0' || echo "atheris cannot be had here"
	@touch $@
