# Every target makes the virtual environment first, so `make demo` and `make test` work in a fresh clone.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Set in many container images, it makes each new process compile torch's and transformers' sources again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo lab docs test check lint types quick soak clean

LOCK ?= cpu
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ok
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq install --no-compile
NOT_QUICK := torch slow notebook browser gpu
QUICK := $(subst @, and ,$(subst $() ,@,$(foreach mark,$(NOT_QUICK),not~$(mark))))

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 10

setup: $(STAMP) ## make .venv with everything in it (LOCK=gpu for the CUDA set)

demo: $(STAMP) ## the whole loop: measure, train, measure again, report
	@$(BIN)/benchgen loop experiment=solar_system confirm=yes

lab: $(STAMP) ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks/01_quickstart.ipynb

docs: $(STAMP) ## the documentation as a site in build/docs/html, strictly, without a network
	@$(BIN)/python docs/build.py

test: $(STAMP) ## every test, and every notebook executed in its short form
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --nbmake --nbmake-timeout=600

check: $(STAMP) ## lint, types, import rule and the quick tests: under a minute, without torch
	@$(MAKE) --no-print-directory -k -j2 --output-sync=target lint types quick

lint: $(STAMP) ## ruff and the import rule
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check || { $(BIN)/ruff format --check; exit 1; }
	@$(BIN)/lint-imports --no-logo

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

quick: $(STAMP) ## the tests that load no torch and take no time
	@$(BIN)/pytest -q -p no:nbmake -p no:anyio -n 2 --dist loadfile -m "$(subst ~, ,$(QUICK))"

soak: $(STAMP) ## the long repetitions, with their figures under experiments/soak/
	@mkdir -p experiments/soak
	@BENCHGEN_SOAK=experiments/soak BENCHGEN_KILLS=20 BENCHGEN_WRITERS_S=60 $(BIN)/pytest tests/faults
	@$(BIN)/python experiments/soak/ray_sweep.py

clean: ## remove what was built: .venv, caches (workspaces and experiments stay)
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define SETUP
start=$$SECONDS
say() { echo "setup: $$*"; }
if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
  python=
  for name in $(PYTHON) python3.11 python3.12 python3; do
    if $$name -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then
      python=$$name; break
    fi
  done
  if [ -z "$$python" ]; then
    say "needs Python 3.11 or 3.12 with venv (Debian: apt-get install python3-venv), or PYTHON=/path/to/python"; exit 1
  fi
  say "1/4 $(VENV) with $$($$python --version)"
  $$python -m venv --clear $(VENV)
fi
torch=$$(grep '^torch==' requirements/$(LOCK).lock)
say "2/4 $$torch with its dependencies ($$((SECONDS - start)) s)"
$(PIP) -c requirements/$(LOCK).lock "$$torch"
say "3/4 the $$(grep -c '^[^#].*==' requirements/$(LOCK).lock) packages of requirements/$(LOCK).lock, the longest step ($$((SECONDS - start)) s)"
$(PIP) --no-deps -r requirements/$(LOCK).lock
say "4/4 benchgen itself, and bytecode: a process starts twice as fast with it ($$((SECONDS - start)) s)"
$(PIP) --no-deps --no-build-isolation -e .
$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib benchgen || true  # templates are no Python
touch $(STAMP)
say "done in $$((SECONDS - start)) s"
endef
export SETUP

$(STAMP): pyproject.toml requirements/$(LOCK).lock
	@bash -euo pipefail -c "$$SETUP"
