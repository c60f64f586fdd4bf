# Everything runs in .venv, made on first use. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
# Test processes; 0 runs everything in one.
WORKERS ?= auto
# With the JIT a file at a time, in the order of tests/conftest.py: tests of a file share kernels. Without it nobody waits for another.
DIST := --dist loadfile --no-loadscope-reorder
EVENLY := --dist worksteal
PYTEST_ARGS ?=
# How long `make fuzz` goes on, by the clock, where it starts, and with which bounding-volume type, if not all: docs/fuzzing.md.
SECONDS ?= 60
SEED ?= 0
VOLUME ?=
BENCH_ARGS ?=
# Which paper (experiments/README.md), or all of them, which takes hours; and options, such as --quick.
EXPERIMENT ?= all
EXPERIMENT_ARGS ?=

# Collecting thousands of tests takes seconds with compiled files at hand, and minutes where the environment forbids to keep them.
export PYTHONDONTWRITEBYTECODE :=

BIN := $(VENV)/bin
RUN := $(BIN)/python
PYTEST := $(RUN) -m pytest $(PYTEST_ARGS)

.PHONY: help demo test test-full test-gpu fuzz lint bench experiments docs release clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.with-pictures  ## 27 deforming bodies bounce off each other: progress, tables, out/demo.png
	$(BIN)/pliant demo --out out

test: $(VENV)/.with-test  ## the short tier of tests, in a few minutes: docs/tiers.md
	$(PYTEST) --tier short -n $(WORKERS) $(DIST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) --tier short -n $(WORKERS) $(EVENLY) -m formulas
	NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 $(PYTEST) --tier short -n $(WORKERS) $(EVENLY) -m cuda

test-full: $(VENV)/.with-test,site,lint  ## all other tests: both together are all there are
	$(PYTEST) --tier full -n $(WORKERS) $(DIST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) --tier full -n $(WORKERS) $(EVENLY) -m formulas
	NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 $(PYTEST) --tier full -n $(WORKERS) $(EVENLY) -m cuda

test-gpu: $(VENV)/.with-test,cuda  ## kernels for GPUs, on one
	$(PYTEST) -m cuda

fuzz: $(VENV)/.with-test  ## random histories against two oracles: make fuzz SECONDS=3600 SEED=100000
	PYTHONPATH=src:tests $(RUN) -m fuzz --seconds $(SECONDS) --seed $(SEED) $(if $(VOLUME),--volume $(VOLUME))

lint: $(VENV)/.with-dev  ## ruff, mypy, that layers import downward only, and that retired names stay away
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(PYTEST) -q tests/test_layers.py tests/test_names.py

bench: $(VENV)/.with-peers  ## side by side with other libraries
	$(RUN) -m benchmarks.peers $(BENCH_ARGS)

experiments: $(VENV)/.with-experiments  ## the papers again: make experiments EXPERIMENT=larsson2001 EXPERIMENT_ARGS=--quick
	$(RUN) -m experiments $(EXPERIMENT) $(EXPERIMENT_ARGS)

docs: $(VENV)/.with-site  ## the documentation as a site, examples run and drawn: out/docs/index.html
	rm -rf docs/gallery
	$(RUN) -m sphinx -q -W --keep-going -b html -d out/docs.kept docs out/docs
	@echo "The documentation is in out/docs/index.html"

release: $(VENV)/.with-release  ## source archive and wheel of the last commit in dist/, checked; nothing is uploaded
	$(RUN) tools/release.py

clean:  ## remove the environment, caches and output
	rm -rf $(VENV) out dist build .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An install is repeated only when pyproject.toml changes: the stamp records the last one.
$(VENV)/.with-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
