# The two commands of the README are `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check -q

# What the tests drive: some releases always, the whole range for test-full (some 300 MB to fetch).
RELEASES     := 0.5.15 0.5.21 0.5.23
ALL_RELEASES := $(foreach patch,12 13 14 15 16 17 18 19 20 21 22 23,0.5.$(patch))

# Processes that share the tests; what one start of an engine or a browser serves stays together (tests/conftest.py).
JOBS   ?= 2
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

.PHONY: demo test test-full check-format setup setup-test setup-releases programs clean

$(VENV)/run.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp tests/engine/requirements.txt tests/engine/fetch_sglang.sh
	$(PIP) install -c constraints.txt -e '.[dev,triton]' -r tests/engine/requirements.txt
	$(PIP) install --no-deps xgrammar==0.2.7
	PIP="$(PIP)" bash tests/engine/fetch_sglang.sh $(VENV) $(RELEASES)
	@touch $@

setup: $(VENV)/run.stamp
setup-test: $(VENV)/test.stamp
setup-releases: setup-test
	PIP="$(PIP)" bash tests/engine/fetch_sglang.sh $(VENV) $(ALL_RELEASES)
	[ -d $(VENV)/ray/ray ] || $(PIP) install --target $(VENV)/ray 'ray>=2.50'

demo: setup
	$(BIN)/speckv-debug demo -f --fault move-direction-swapped -o demo.speckv

programs:
	@bash tests/programs.sh

test: setup-test programs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST)

test-full: setup-releases programs
	$(PYTEST) -m "not gpu"

clean:
	rm -rf $(VENV) build dist *.egg-info
