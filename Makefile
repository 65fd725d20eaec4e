# `make plan` sets everything up and answers the headline question; `make test` passes every check.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests scripts
# Cores that pytest may use; two is what the continuous integration has.
JOBS ?= 2

.PHONY: help setup plan test check lint types imports pytest browser messages bench bench-offers bench-simulate fuzz schemathesis load docs examples accuracy calibrate hooks clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/runtime.stamp: pyproject.toml requirements/runtime.txt hatch_build.py $(wildcard src/caudal/simulate/engine/*)
	@$(PYTHON) -c 'import sys; sys.exit("Caudal needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing Caudal into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/runtime.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/runtime.stamp requirements/dev.txt
	@echo "installing the development tools"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/dev.txt
	@touch $@

setup: $(VENV)/dev.stamp  ## install Caudal and the development tools into .venv

plan: $(VENV)/runtime.stamp  ## set up and answer the headline question
	@$(BIN)/caudal plan llama-3.1-70b --input 2000 --output 300 --rate 5/s --ttft-p95 1s --tpot-p95 50ms
	@echo
	@echo "Ask your own:  $(BIN)/caudal plan MODEL --input 2k --output 300 --rate 5/s   ($(BIN)/caudal plan --help)"

test: check  ## set up and pass every check (what .ci/run calls)

check: lint types imports pytest  ## format, lint, types, room order, tests with coverage

lint: $(VENV)/dev.stamp  ## ruff: formatting and rules
	@$(BIN)/ruff format --check --quiet $(SOURCES)
	@$(BIN)/ruff check --quiet $(SOURCES)

types: $(VENV)/dev.stamp  ## mypy --strict on code and tests
	@$(BIN)/mypy

imports: $(VENV)/dev.stamp  ## rooms import only rooms above them
	@$(BIN)/lint-imports

browser:  ## see to it that Chromium is there, for the tests of the pages
	@scripts/browser.sh

pytest: $(VENV)/dev.stamp browser  ## the tests, with branch coverage of the pure rooms
	@$(BIN)/python -m pytest --quiet --numprocesses $(JOBS) --cov --cov-report=
	@$(BIN)/coverage report --fail-under=95 --include='src/caudal/vocabulary/*,src/caudal/facts/*,src/caudal/traffic/*,src/caudal/fit/*,src/caudal/speed/*,src/caudal/simulate/*,src/caudal/plan/*,src/caudal/offers/*'

bench: $(VENV)/dev.stamp  ## time whole commands against an empty Python
	@$(BIN)/python scripts/bench.py

bench-offers: $(VENV)/dev.stamp  ## time loading and querying offers, from 10³ to 10⁶
	@$(BIN)/python scripts/bench_offers.py

fuzz: $(VENV)/dev.stamp  ## feed 120,000 broken inputs to every reader
	@$(BIN)/python scripts/fuzz.py

schemathesis: $(VENV)/dev.stamp  ## try the HTTP API against its own description, at length
	@CAUDAL_SCHEMATHESIS_EXAMPLES=200 $(BIN)/python -m pytest --quiet tests/contract/test_described_api.py

load: $(VENV)/dev.stamp  ## load a server: cached facts, fits, idle streams, memory over 50,000 requests
	@$(BIN)/python scripts/load.py

bench-simulate: $(VENV)/dev.stamp  ## time the simulator from 10^4 to 10^7 requests
	@$(BIN)/python scripts/bench_simulate.py

messages: $(VENV)/dev.stamp  ## bring the pages' catalogues up to date with what they say
	@$(BIN)/python scripts/messages.py

docs: $(VENV)/dev.stamp  ## regenerate the reference pages from the code
	@$(BIN)/python scripts/reference.py

examples: $(VENV)/dev.stamp  ## write the real output of every example into README and docs
	@$(BIN)/python scripts/examples.py

calibrate: $(VENV)/runtime.stamp  ## refit the speed model: make calibrate ROWS=perf.jsonl.gz MODELS=folder
	@test -n "$(ROWS)" -a -n "$(MODELS)" || { echo "give ROWS=perf.jsonl.gz MODELS=folder"; exit 2; }
	@$(BIN)/python scripts/calibrate.py "$(ROWS)" "$(MODELS)"

accuracy: $(VENV)/runtime.stamp  ## judge the speed model: make accuracy ROWS=perf.jsonl.gz MODELS=folder
	@test -n "$(ROWS)" -a -n "$(MODELS)" || { echo "give ROWS=perf.jsonl.gz MODELS=folder"; exit 2; }
	@$(BIN)/caudal accuracy speed "$(ROWS)" --models "$(MODELS)"

hooks: $(VENV)/dev.stamp  ## run the checks before each commit
	@$(BIN)/pre-commit install

clean:  ## remove what the other targets made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage* build dist
