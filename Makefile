# Two commands matter: `make demo` and `make test`. Each makes .venv first, with uv if it is there, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml README.md
# A file, or a folder that shares a cluster or a browser, stays in one process: see tests/conftest.py.
# One process more than there are cores: those of Spark and of browsers mostly wait.
WORKERS = $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PYTEST = -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder
QUICK := -m "not slow" --ignore tests/browser --ignore tests/spark
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)

.PHONY: demo check test test-lowest lint tools bench pictures changelog release clean

$(BIN)/python:
	@if command -v uv >/dev/null 2>&1; then uv venv --quiet --seed --python $(PYTHON) $(VENV); else $(PYTHON) -m venv $(VENV); fi

$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python -e .; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; fi
	@touch $@

# pycanon, a judge in the tests, pins old versions of what we use; without its pins it works with the new ones.
$(VENV)/.installed-test: $(SOURCES) | $(BIN)/python
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python -e '.[lint,test]' \
	  && uv pip install --quiet --python $(BIN)/python --no-deps pycanon; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lint,test]' \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pycanon; fi
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/flowveil demo -o flowveil-demo --overwrite

# Types are checked beside the tests: by itself mypy would leave cores idle.
style = $(BIN)/ruff check . && $(BIN)/ruff format --check .
both = $(style) && { $(BIN)/mypy & types=$$!; $(BIN)/python $(PYTEST) $(1); tests=$$?; wait $$types && exit $$tests; }

# What is done in a minute and a half: everything but Spark, browsers and tests that take more than a third of a second.
check: $(VENV)/.installed-test
	$(call both,$(QUICK))

test: $(VENV)/.installed-test tools
	$(call both)

# The same as check with the lowest versions that pyproject.toml promises, in an environment of its own.
test-lowest: $(VENV)-lowest/.installed
	$(VENV)-lowest/bin/python $(PYTEST) $(QUICK)

$(VENV)-lowest/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct -e '.[test]'
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --no-deps pycanon
	@touch $@

lint: $(VENV)/.installed-test
	$(style)
	$(BIN)/mypy

# What some tests drive: a browser, Java for Spark, a database server. Where they cannot be had, these tests are skipped.
tools:
	@missing=""; \
	command -v chromium >/dev/null 2>&1 || missing="$$missing chromium"; \
	command -v java >/dev/null 2>&1 || missing="$$missing default-jre-headless"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	if [ -n "$$missing" ] && command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
	  echo "installing$$missing"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } \
	    >/dev/null 2>&1 || echo "could not install$$missing: the tests that need it are skipped"; \
	elif [ -n "$$missing" ]; then echo "not found:$$missing; the tests that need it are skipped"; fi

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks

pictures: $(VENV)/.installed
	$(BIN)/python docs/make_pictures.py

changelog: $(VENV)/.installed-test
	@$(BIN)/towncrier build --draft --version next 2>/dev/null

# Builds dist/, runs the demo of the wheel in an environment that has nothing else, and tests from the sdist: those of
# `make check`, or all with `make release TESTS=test`. CONTRIBUTING.md has the steps around it.
TESTS ?= check
release: $(VENV)/.installed-test
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && $(PYTHON) -m venv "$$work/wheel" && \
	"$$work/wheel/bin/python" -m pip install --quiet --disable-pip-version-check dist/flowveil-$(VERSION)-py3-none-any.whl && \
	"$$work/wheel/bin/flowveil" demo -o "$$work/demo" && \
	tar -xzf dist/flowveil-$(VERSION).tar.gz -C "$$work" && $(MAKE) -C "$$work/flowveil-$(VERSION)" $(TESTS)

clean:
	rm -rf $(VENV) $(VENV)-lowest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
