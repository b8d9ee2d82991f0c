# The two commands of the README are `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check -q

.PHONY: demo test test-full check-format setup setup-test browser clean

$(VENV)/run.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp tests/engine/requirements.txt tests/engine/fetch_sglang.sh
	$(PIP) install -c constraints.txt -e '.[dev,triton]' -r tests/engine/requirements.txt
	PIP="$(PIP)" bash tests/engine/fetch_sglang.sh $(VENV)
	@touch $@

setup: $(VENV)/run.stamp
setup-test: $(VENV)/test.stamp

demo: setup
	$(BIN)/speckv-debug demo -f --fault move-direction-swapped -o demo.speckv

browser:
	@bash tests/browser.sh

test: setup-test browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

test-full: setup-test browser
	$(BIN)/python -m pytest -m "not gpu"

clean:
	rm -rf $(VENV) build dist *.egg-info
