# Two commands matter: `make demo` and `make test`. Each makes .venv first, with uv if it is there, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml README.md
# A file, or a folder that shares a cluster or a browser, stays in one process: see tests/conftest.py.
# One process more than there are cores: those of Spark, of browsers and of the app mostly wait.
WORKERS = $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PYTEST = -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder
QUICK := -m "not slow" --ignore tests/browser --ignore tests/spark
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)

.PHONY: demo check test test-lowest test-locked lock sbom audit lint docs tools bench scale load fuzz faults mutate pictures changelog release clean

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

# Compiled Python is kept, whatever a container asks for: tests start hundreds of processes, each of which would compile
# flowveil anew, which takes longer than what most of them do.
check test test-lowest test-locked: export PYTHONDONTWRITEBYTECODE =

# What is done in a minute and a half: everything but Spark, browsers and tests that take long.
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

# What the tests run with, by version and hash, for Python 3.11 to 3.13 on every system. `make test` does not use it: a
# registry that lacks one file of it would stop everybody. pycanon comes without the old versions it pins.
LOCK := requirements/test.lock
COMPILE = $(VENV)-supply/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate
lock: $(VENV)-supply/.installed
	$(COMPILE) --extra lint --extra test pyproject.toml -o $(LOCK)
	echo pycanon | $(COMPILE) --no-deps - >> $(LOCK)

# The same as check, with just the files of the lock.
test-locked: $(VENV)-supply/.installed
	$(VENV)-supply/bin/uv venv --quiet --clear --python $(PYTHON) $(VENV)-locked
	$(VENV)-supply/bin/uv pip install --quiet --python $(VENV)-locked/bin/python --no-deps --require-hashes -r $(LOCK)
	$(VENV)-supply/bin/uv pip install --quiet --python $(VENV)-locked/bin/python --no-deps --no-build-isolation .
	$(VENV)-locked/bin/python $(PYTEST) $(QUICK)

# A bill of materials (CycloneDX) of flowveil with all extras, in build/sbom.json, and what is known to be wrong with any of
# it: the latter asks a service on the network.
sbom: $(VENV)-supply/.installed
	mkdir -p build
	$(VENV)-supply/bin/uv venv --quiet --clear --python $(PYTHON) $(VENV)-all
	$(VENV)-supply/bin/uv pip install --quiet --python $(VENV)-all/bin/python '.[all]'
	$(VENV)-supply/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file build/sbom.json $(VENV)-all/bin/python

audit: $(VENV)-supply/.installed
	$(VENV)-supply/bin/pip-audit --strict --require-hashes --disable-pip -r $(LOCK)

$(VENV)-supply/.installed: | $(BIN)/python
	$(BIN)/python -m venv --clear $(VENV)-supply
	$(VENV)-supply/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom pip-audit uv
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

# Puts small mistakes into what keeps the promise, and looks whether a test finds each; goes on where the last run ended.
MOST ?= 5
mutate: $(VENV)/.installed-test
	$(BIN)/python -m reliability mutate --most $(MOST)

# Feeds flowveil what nobody should give it; goes on where the last run ended. make fuzz MINUTES=600 for a night.
MINUTES ?= 10
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m reliability fuzz --minutes $(MINUTES)

# A hundred million trips, and rows of zone ids: an hour, 20 GB of disk, and an idle machine for seconds by the clock.
scale: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks rows --rows 3e8
	$(BIN)/python -m benchmarks engines --largest 1e7
	$(BIN)/python -m benchmarks scale --largest 1e8

# The web app under load: some minutes. docs/reliability.md has what it gave.
load: $(VENV)/.installed-test
	$(BIN)/python -m reliability load

# Kills commands at each of their calls that change the disk, fills disks, sets clocks wrong; some ten minutes.
faults: $(VENV)/.installed-test
	$(BIN)/python -m reliability faults

# The site, in build/site: open build/site/index.html. Its reports are made once, into build/gallery.
docs: $(VENV)/.installed-test
	$(BIN)/python docs/make_results.py
	rm -rf build/gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "open build/site/index.html"

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
	rm -rf $(VENV) $(VENV)-* dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
