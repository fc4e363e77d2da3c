# Two commands matter: `make demo` and `make test`. Each makes .venv first, with uv if it is there, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml README.md

.PHONY: demo test lint tools bench pictures clean

$(BIN)/python:
	@if command -v uv >/dev/null 2>&1; then uv venv --quiet --seed --python $(PYTHON) $(VENV); else $(PYTHON) -m venv $(VENV); fi

$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python -e .; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; fi
	@touch $@

# pycanon, a judge in the tests, pins old versions of what we use; without its pins it works with the new ones.
$(VENV)/.installed-test: $(SOURCES) | $(BIN)/python
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python -e '.[test]' \
	  && uv pip install --quiet --python $(BIN)/python --no-deps pycanon; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]' \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pycanon; fi
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/flowveil demo -o flowveil-demo --overwrite

test: lint tools
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
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

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
