# Two commands do everything on a fresh machine: `make demo` and `make test`. `make` alone lists the others.

# Settings, given as `make test VENV=/somewhere/else`:
VENV ?= .venv
# The program that makes the environment; without it the first Python 3.11 on the path.
PYTHON ?=
# Where torch comes from when the environment has none: by default the owners' CPU builds, because PyPI's build for
# Linux x86-64 is the CUDA one (gigabytes). If the index cannot be reached, or TORCH_INDEX is empty, pip's own is used.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# Test processes, one thread each.
WORKERS ?= 2

RUN := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USE_PEP517=1 $(RUN) -m pip install --quiet
IS_311 := import sys; sys.exit(sys.version_info[:2] != (3, 11))
# Exists when the environment holds exactly this lock and this folder's package.
STAMP := $(VENV)/.installed-$(shell { cat requirements.lock setup.py; pwd; } | cksum | cut -d ' ' -f 1)
# Exists while an installation is under way, so that what an interrupted one left is not built upon.
UNFINISHED := $(VENV).unfinished

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types check clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile

setup: $(STAMP) ## create or update the environment and bring the pkuseg model
	@$(RUN) -m letgraph.fetch_pkuseg

demo: setup ## train on the demo corpus and print its dev and test scores
	$(RUN) -m letgraph.train --dataset demo --output-dir runs/demo --resume auto

test: setup ## run the tests
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 \
	    $(RUN) -m pytest -q -n $(WORKERS) --dist loadfile

lint: setup ## check style and formatting
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: setup ## check the package's types
	$(RUN) -m mypy

check: lint types test ## lint, types and tests

clean: ## remove caches and build leftovers; the environment and runs/ stay
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist letgraph.egg-info
	find $(wildcard letgraph tests benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP):
	@python=; clear=; \
	for candidate in $(or $(PYTHON),python3.11 python3 python); do \
	    if "$$candidate" -c '$(IS_311)' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "error: Python 3.11, the newest that DGL 1.1 has wheels for, was not found" \
	        "(tried: $(or $(PYTHON),python3.11 python3 python));" \
	        "install it, and if it is not on the path name it: make PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	fi; \
	if [ -e "$(UNFINISHED)" ]; then \
	    echo "an earlier installation into $(VENV) was interrupted; starting afresh"; \
	    clear=--clear; \
	elif [ -n "$$(ls -A "$(VENV)" 2>/dev/null)" ] && ! "$(RUN)" -c '$(IS_311)' 2>/dev/null; then \
	    echo "error: $(VENV) exists and is no environment of Python 3.11; remove it or give VENV=FOLDER" >&2; \
	    exit 1; \
	fi; \
	echo "installing the packages of requirements.lock into $(VENV) (about 500 MB of downloads, 2.5 GB on disk)"; \
	mkdir -p "$(VENV)" && touch "$(UNFINISHED)" && "$$python" -m venv $$clear "$(VENV)"
	@$(PIP) "$$(grep '^setuptools==' requirements.lock)"
	@torch=$$(grep '^torch==' requirements.lock); \
	if [ -n "$(TORCH_INDEX)" ] && \
	    ! $(PIP) --no-deps --index-url "$(TORCH_INDEX)" --timeout 15 --retries 1 "$$torch"; then \
	    echo "no $$torch from $(TORCH_INDEX); taking the build of pip's own index instead"; \
	fi
	@$(PIP) --no-build-isolation -r requirements.lock
	@$(PIP) --no-build-isolation --no-deps -e .
	@rm -f "$(VENV)"/.installed-* "$(UNFINISHED)"
	@touch "$@"
