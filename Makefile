# make demo    build everything and run the bundled example
# make test    all tests
# make help    the other targets
#
# Everything is installed inside this directory (.venv/, target/); nothing globally.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# Versions that the project is tested with; a later release of a dependency must
# not change a picture or break a build.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
PIP := $(BIN)/python -m pip

# The property tests try the same cases in every run; another seed tries others:
#   make test PROPTEST_RNG_SEED=2
PROPTEST_RNG_SEED ?= 1
export PROPTEST_RNG_SEED

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Set-up -------------------------------------------------------------------

$(VENV)/.created: tools/prerequisites.sh
	@tools/prerequisites.sh $(PYTHON) $(RUST_VERSION)
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run-dependencies: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing Python packages into $(VENV) ..."
	@$(BIN)/python tools/requirements.py > $(VENV)/requirements.txt
	@$(PIP) install --requirement $(VENV)/requirements.txt
	@touch $@

$(VENV)/.lint-prerequisites: $(VENV)/.dev-dependencies
	@tools/prerequisites.sh $(PYTHON) $(RUST_VERSION) rustfmt clippy
	@touch $@

$(VENV)/.dev-dependencies: $(VENV)/.run-dependencies
	@echo "Installing the linters and pytest into $(VENV) ..."
	@$(BIN)/python tools/requirements.py dev > $(VENV)/requirements-dev.txt
	@$(PIP) install --requirement $(VENV)/requirements-dev.txt
	@touch $@

$(VENV)/.site-dependencies: $(VENV)/.run-dependencies
	@echo "Installing what makes the site into $(VENV) ..."
	@$(BIN)/python tools/requirements.py site > $(VENV)/requirements-site.txt
	@$(PIP) install --requirement $(VENV)/requirements-site.txt
	@touch $@

# The Python sources are used where they lie; only changed Rust needs a build. There are two
# builds of the engine: `release` to work with, and `quick`, with all checks and compiled in a
# fraction of the time, for tests. Both are kept; the one that was installed last is in place.

$(VENV)/.engine: $(VENV)/.run-dependencies $(RUST_SOURCES)
	@echo "Building the engine (release; 4 minutes on two cores) ..."
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked
	@$(BIN)/python tools/stubs.py
	@rm -f $(VENV)/.checked-engine
	@touch $@

$(VENV)/.checked-engine: $(VENV)/.run-dependencies $(RUST_SOURCES)
	@echo "Building the engine with all checks (2 minutes on two cores) ..."
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile quick --locked
	@$(BIN)/python tools/stubs.py
	@rm -f $(VENV)/.engine
	@touch $@

# --- What people type ---------------------------------------------------------

.PHONY: build
build: $(VENV)/.engine ## make .venv/bin/odonata
	@test -n "$(QUIET)" || echo "Ready: $(BIN)/odonata --help"

.PHONY: demo
demo: $(VENV)/.engine ## build, run the bundled example, say where its pictures lie
	@$(BIN)/odonata run examples/demo.toml

# Processes that share the tests of Python; tests with real components mostly wait. Those that compare
# times that they measure run one after another.
TEST_PROCESSES ?= 2
TIMED_TESTS := live/tests/real/test_network_probes.py live/tests/real/test_queue_foretold.py

# Examples are compiled by make lint, not here.
# Tests of Rust that lack their data end early; their names and reasons are said at the end.
SKIPPED := $(CURDIR)/target/skipped-tests

.PHONY: test
test: $(VENV)/.checked-engine $(VENV)/.dev-dependencies ## all tests, Rust and Python
	@rm -f $(SKIPPED)
	ODONATA_SKIPPED_TESTS=$(SKIPPED) cargo test --workspace --tests --profile quick --locked --quiet
	cargo test --workspace --doc --profile quick --locked --quiet
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile tests/python
	$(BIN)/python tools/shipped.py -n $(TEST_PROCESSES)
	@$(MAKE) --no-print-directory test-studies test-live
	@test ! -e $(SKIPPED) || { echo "Skipped tests of Rust:"; sort -u $(SKIPPED) | sed 's/^/  /'; }
	@echo "target/ takes $$(du -sh target | cut -f 1)."
	@echo "The engine in place is the one with all checks, several times slower; make build" \
	  "puts the fast one back."

.PHONY: test-studies
test-studies: $(VENV)/.checked-engine $(VENV)/.dev-dependencies ## the tests of studies/ alone
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile studies/tests

.PHONY: test-live
test-live: $(VENV)/.checked-engine $(VENV)/.dev-dependencies ## the tests of live/ alone
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --ignore live/tests/real live/tests
	$(BIN)/python -m pytest $(TIMED_TESTS)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist worksteal \
	  $(addprefix --ignore ,$(TIMED_TESTS)) live/tests/real

.PHONY: lint
lint: $(VENV)/.lint-prerequisites $(or $(wildcard $(VENV)/.engine),$(VENV)/.checked-engine) ## formatting, clippy, rustdoc, ruff, mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --profile quick --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile quick --locked --quiet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check licenses bans sources; \
	else echo "cargo-deny is not installed: licences of crates are not checked (deny.toml)"; fi

.PHONY: versions
versions: $(VENV)/.lint-prerequisites $(VENV)/.checked-engine ## the oldest Rust, the oldest and newest Python, where installed
	@$(BIN)/python tools/versions.py

.PHONY: format
format: $(VENV)/.lint-prerequisites ## rewrite sources in the project's format
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

.PHONY: docs
docs: $(VENV)/.engine ## regenerate the generated pages and figures of docs/
	$(BIN)/python docs/generate.py

# Its notebooks take either engine: the one that is in place, brought up to date.
.PHONY: site
site: $(or $(wildcard $(VENV)/.checked-engine),$(VENV)/.engine) $(VENV)/.site-dependencies ## the documentation as a site: target/site/index.html
	@test -x $(BIN)/zensical || { echo "make site needs Python 3.11 or newer"; exit 1; }
	@$(BIN)/python tools/site/pages.py target/site-pages
	@$(BIN)/zensical build --strict --clean --config-file mkdocs.yml
	@RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile quick --locked --quiet
	@rm -rf target/site/rust && cp -R target/doc target/site/rust
	@echo "Ready: target/site/index.html"

.PHONY: figures
figures: $(VENV)/.engine ## repeat the studies behind the figures of pages (minutes)
	@for study in studies/scripts/*.py; do $(BIN)/python $$study || exit 1; done

.PHONY: bench
bench: $(VENV)/.engine ## engine speed on the three reference machines
	@for nodes in 1056 16512 82944; do $(BIN)/odonata bench --nodes $$nodes; done

# Other cases: make fuzz FUZZ="--seed 2 --checkpoints 500 --scenarios 0"
.PHONY: fuzz
fuzz: $(VENV)/.checked-engine $(VENV)/.dev-dependencies ## forged checkpoints, changed scenarios, files and results: none may crash
	@$(BIN)/python tools/fuzz.py $(FUZZ)

# What no test can notice: an access outside an array where the engine does not look. Forged states
# are followed without the check of aliases, which the first run has made.
MIRI := cargo +nightly miri test --locked --quiet --release --package odonata-sim --test engine
.PHONY: miri
miri: ## a small network and forged states under Miri (nightly Rust; long)
	@cargo +nightly miri --version > /dev/null || { echo "make miri needs Miri:" \
	  "rustup toolchain install nightly --component miri,rust-src"; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation $(MIRI) memory::small
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-disable-stacked-borrows" $(MIRI) memory::forged

# Stages, other Pythons: make release RELEASE="--stage try --python ~/python3.14/bin/python3"
.PHONY: release
release: $(VENV)/.lint-prerequisites ## check, test, build and try sdist and wheels; upload nothing
	@$(BIN)/python tools/release.py $(RELEASE)

.PHONY: clean
clean: ## remove everything that make built
	rm -rf $(VENV) target python/odonata/_engine*.so
