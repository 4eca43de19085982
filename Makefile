# Every target is a command; what they make lies in .venv and in the cache of the tests.
.PHONY: help run kind kind-down check test e2e screenshots fmt lock
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

CODE := contract operator router client image tests benchmarks examples
# The pure rooms, under a minute; `make test` runs these again among all the others.
tests_of = $(patsubst %,tests/$(1)/test_%.py,$(2))
FAST_TESTS := tests/layout tests/contract \
  $(call tests_of,operator,arbitration budget conditions consensus differences events fields \
    labelselector manifests narrator ration reconcile settings spec viewplan viewspec) \
  $(call tests_of,mirror,layout settings) \
  $(call tests_of,router,admission barenames belief beside catalogue chosen chosen_in_views \
    compilable completion confusables departed departed_beside dispatch endpoints entries eras \
    exposure foreseen headervalues hiding hostnames jsonrpc lineage listing markup metatools offer page \
    panorama paramheaders prompts reading recent registry reporting resources respond ruling \
    search showing toolcheck translation upstream_wording uritemplate usualcall views) \
  $(call tests_of,chart,kubernetes_schema notes pods rbac rendering services settings values) \
  $(call tests_of,image,containerfile layers selection) $(call tests_of,cluster,kind) \
  $(call tests_of,client,approval check envelope folder judgement news notices sample screen survey)

# Named by what they were made from: a change of the lock file installs anew, nothing else does.
made_from = $(shell cat $(1) pyproject.toml | cksum | tr -d ' ')
TO_RUN := .venv/.to-run-$(call made_from,requirements/run.txt)
TO_TEST := .venv/.to-test-$(call made_from,requirements/dev.txt)
TO_LOCK := .venv/.to-lock-$(call made_from,requirements/uv.txt)

help:  ## Show this.
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile | expand -t 18

run: $(TO_RUN)  ## Start the two example servers, and a router over examples/quickstart.
	@exec $(BIN)/python examples/run.py

kind:  ## Install the chart in a kind cluster of its own, with the example servers (needs Docker).
	@tests/cluster/kind-up

kind-down:  ## End that cluster.
	@tests/cluster/kind-down

check: $(TO_TEST)  ## Check lint, types, fences and the chart, and run the fast tests.
	$(lint)
	PYTHONPATH=tests $(BIN)/python -m provision helm
	$(BIN)/python -m pytest --quiet $(FAST_TESTS)

test: $(TO_TEST)  ## Run everything that CI runs: make check, every test, and make e2e where it can run.
	$(lint)
	PYTHONPATH=tests $(BIN)/python -m provision
	$(BIN)/python -m pytest --ignore=tests/e2e
	tests/cluster/e2e --if-able

e2e: $(TO_TEST)  ## Install the chart on a real node, and use it: image, agents, rollout, upgrade.
	PYTHONPATH=tests $(BIN)/python -m provision
	tests/cluster/e2e

screenshots: $(TO_TEST)  ## Take the pictures of the router's page anew, for the docs.
	POINTSMAN_SCREENSHOTS=docs $(BIN)/python -m pytest --quiet \
	  tests/router/test_page_in_a_browser.py -k pictures

fmt: $(TO_TEST)  ## Format the code, and mend what can be mended.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(TO_LOCK)  ## Renew every lock file, with what is at least a week old.
	$(compile) pyproject.toml --extra dev -o requirements/dev.txt
	$(compile) pyproject.toml requirements/build.in --constraint requirements/dev.txt \
	  --extra operator --extra mirror --extra client --extra examples -o requirements/run.txt
	$(compile) requirements/image-build.in --constraint requirements/dev.txt -o requirements/image-build.txt
	$(compile_image) -o requirements/image.txt
	$(compile_image) --extra examples -o requirements/examples-image.txt
	$(compile) requirements/uv.in -o requirements/uv.txt
	$(compile) tests/provision/go.in -o tests/provision/go.txt
	$(compile) tests/provision/node.in -o tests/provision/node.txt
	$(compile) tests/peers/mcp1.in -o tests/peers/mcp1.txt
	$(compile) tests/peers/clients/sdk1.in -o tests/peers/clients/sdk1.txt
	$(compile) tests/peers/clients/sdk2.in -o tests/peers/clients/sdk2.txt

define lint
$(BIN)/ruff format --check --quiet .
$(BIN)/ruff check --quiet .
$(BIN)/mypy $(wildcard $(CODE))
$(BIN)/lint-imports
endef

# A week is what it takes until a bad release has been noticed.
A_WEEK_AGO = $(shell $(PYTHON) -c 'from datetime import *; print(date.today() - timedelta(7))')
compile = .venv/lock/bin/uv pip compile --quiet --upgrade --universal --generate-hashes \
  --no-header --python-version 3.11 --exclude-newer $(A_WEEK_AGO)

# One interpreter on one system: pip has no marker to weigh.
compile_image = $(subst --universal,--python-platform x86_64-manylinux_2_36,$(compile)) pyproject.toml \
  --constraint requirements/dev.txt --extra operator --extra mirror --extra router --extra client

$(TO_RUN): | $(BIN)/python
	@echo "Installing what runs, into .venv (once; a minute or two)"
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f .venv/.to-run-* && touch $@

$(TO_TEST): | $(BIN)/python
	@echo "Installing what runs and what tests, into .venv (once; a minute or two)"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f .venv/.to-test-* && touch $@

$(TO_LOCK):
	@$(PYTHON) -m venv .venv/lock
	@.venv/lock/bin/python -m pip --disable-pip-version-check install --quiet \
	  --require-hashes -r requirements/uv.txt
	@rm -f .venv/.to-lock-* && touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "Python >= 3.11 is needed: make PYTHON=/path/to/it …")'
	@$(PYTHON) -m venv .venv
