# Two commands on a fresh machine with Python >= 3.11 and make: `make book`, `make test`.
# `make help` lists the rest.

.DEFAULT_GOAL := book
.DELETE_ON_ERROR:
SHELL := /bin/bash

PYTHON  ?= python3
WORKERS ?= 3

BIN      := .venv/bin
ENV      := .venv/.installed
RUNTIME  := assets/vendor/vega.js
BUILT    := _build/html/.stamp
LABS     := .venv-labs/.installed
CHAPTERS := $(wildcard chapters/*.ipynb)
SOURCES  := _config.yml _toc.yml references.bib intro.ipynb $(CHAPTERS) chapters/*.md \
            $(shell find assets templates -type f 2>/dev/null)

# One run prints what the next one must print, on any number of cores.
export PYTHONHASHSEED := 0
export OPENBLAS_NUM_THREADS := 1
# Compile a module once, not in each of the many kernels and workers.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: book test test-deep fuzz pages lab labs run bench mutants wheel offline lint types clean help

book: $(ENV) $(RUNTIME)  ## build the pages: _build/html/index.html
	$(build_pages)

test: $(ENV)  ## compute every number again, and run every chapter
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --ignore=tests/browser --ignore=tests/deep \
	    --ignore=tests/fuzz -m "not long" \
	    --nbval --nbval-current-env --nbval-cell-timeout=60

test-deep: $(ENV)  ## what takes long: a chapter more, more random inputs, planted defects
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile tests/deep
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --ignore=tests/browser \
	    --ignore=tests/deep --ignore=tests/fuzz -m long tests
	@DEEP=4 $(BIN)/pytest -q -n $(WORKERS) --dist loadfile -m hypothesis \
	    $$(grep -rl --include='test_*.py' hypothesis tests)
	@$(BIN)/python tools/mutants.py --sample 60 --green --workers 2

fuzz: $(ENV)  ## formulas and public callables under hostile arguments; a quarter of an hour
	@$(BIN)/pytest -q -n 0 tests/fuzz

pages: $(ENV) $(BUILT)  ## open every page in chromium, and move every slider
	@$(BIN)/pytest -q -n 2 --dist loadgroup tests/browser

lab: $(ENV) $(RUNTIME)  ## open the book in JupyterLab
	@test -z "$(CHAPTERS)" || $(BIN)/jupyter trust intro.ipynb $(CHAPTERS)
	@if [ "$$(id -u)" -eq 0 ] && [[ "$(LAB_FLAGS)" != *--allow-root* ]]; then \
	    echo 'Jupyter does not start as root: in a container of your own, say'; \
	    echo '    make lab LAB_FLAGS=--allow-root'; exit 1; \
	fi
	@$(BIN)/python tools/lab_extension.py _build/jupyter
	JUPYTER_PATH=_build/jupyter $(BIN)/jupyter lab \
	    --LabApp.default_url=/lab/tree/intro.ipynb $(LAB_FLAGS)

run: $(ENV)  ## run every chapter and store its outputs
	@$(BIN)/python tools/contents.py
	@$(BIN)/python tools/run_notebooks.py --workers $(WORKERS)
	@$(BIN)/python tools/readme_picture.py
	@$(BIN)/python tools/how_checked.py
	@$(BIN)/python tools/glossary.py
	@$(BIN)/python tools/library.py
	@$(BIN)/python tools/browser_tables.py
	@$(BIN)/python tools/lab_references.py

bench: $(ENV) $(BUILT)  ## print the ratios that the book must keep
	@$(BIN)/python -m benchmarks

mutants: $(ENV)  ## plant defects one by one; the tests must turn red each time
	@$(BIN)/python tools/mutants.py $(MUTANTS_FLAGS)

labs: $(LABS)  ## build the graded labs, for students and for the teacher: _build/labs
	@.venv-labs/bin/python tools/labs.py

wheel: $(ENV) $(RUNTIME)  ## the package as one file, for Colab or a class: dist/*.whl
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

offline: $(ENV) $(BUILT)  ## pack the pages into one zip: dist/llmserve_lab.zip
	@$(BIN)/python tools/offline_zip.py

lint: $(ENV)  ## ruff: rules and layout
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(ENV)  ## mypy --strict
	$(BIN)/mypy

clean:  ## remove all that make made, but for the environment in .venv
	rm -rf _build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +

help:  ## list the targets
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A warning is an error: a plain build would exit 0 with a broken page. The first page is
# copied over Jupyter Book's redirect, which has no icon and so asks the server for one.
define build_pages
$(BIN)/jupyter-book build . --all -W -n --keep-going --quiet
@cp _build/html/intro.html _build/html/index.html
@touch $(BUILT)
@echo "open _build/html/index.html"
endef

$(BUILT): $(ENV) $(RUNTIME) $(SOURCES)
	$(build_pages)

$(RUNTIME): $(ENV) tools/vendor_runtime.py
	@$(BIN)/python tools/vendor_runtime.py
	@touch $@

# Graded labs need other libraries than the book, and have an environment of their own.
$(LABS): $(ENV) requirements-labs.txt
	@test -x .venv-labs/bin/python || $(BIN)/python -m venv .venv-labs
	@.venv-labs/bin/python -m pip install --quiet --disable-pip-version-check \
	    -r requirements-labs.txt -c constraints.txt -e .
	@touch $@

# uv where it is installed, pip otherwise.
$(ENV): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
	    sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, got {v[0]}.{v[1]}")'
	@if command -v uv >/dev/null; then \
	    test -x $(BIN)/python || uv venv --quiet --seed --python "$$(command -v $(PYTHON))" .venv; \
	    uv pip install --quiet --python $(BIN)/python -r requirements.txt -c constraints.txt; \
	else \
	    test -x $(BIN)/python || $(PYTHON) -m venv .venv; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	        -r requirements.txt -c constraints.txt; \
	fi
	@touch $@
