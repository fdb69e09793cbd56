# Every command of the project. `make` alone lists them.
#
# VENV    where the virtual environment is made           (.venv)
# PYTHON  interpreters to try for it, in this order       (python3.11 python3.12 python3.13 python3)
# SEED    of the first simulated world (1), of the first fuzzed program (any)
# SECONDS how long to fuzz                                (300)
# WORLDS  how many worlds are simulated                   (500)
# ARGS    passed on to the command that the target runs   (make test ARGS="-k fifo")

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV ?= .venv
PYTHON ?= python3.11 python3.12 python3.13 python3
ARGS ?=
FUZZ_SEED := $(if $(SEED),--seed $(SEED))
SEED ?= 1
WORLDS ?= 500
SECONDS ?= 300

BIN := $(VENV)/bin
# On CPython 3.13 plyvel is built from its sources, beside LevelDB's headers.
PIP_LEVELDB = "$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
	  --require-hashes -r requirements/leveldb.lock 2>/dev/null
STAMP := $(VENV)/.ready
FITS := import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## make the virtual environment; costs nothing when it is up to date

$(STAMP): requirements/dev.lock requirements/leveldb.lock pyproject.toml
	@rm -f "$@"; \
	if ! "$(BIN)/python" -c '$(FITS)' 2>/dev/null; then \
	  found=; \
	  for python in $(PYTHON); do \
	    if "$$python" -c '$(FITS)' >/dev/null 2>&1; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "make setup: none of '$(PYTHON)' is CPython 3.11, 3.12 or 3.13 with venv." >&2; \
	    echo "Install one (Debian: apt-get install python3.11 python3.11-venv)" >&2; \
	    echo "or name one: make setup PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	  fi; \
	  echo "$$found -m venv $(VENV)"; \
	  "$$found" -m venv --clear "$(VENV)"; \
	fi
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
	  --require-hashes -r requirements/dev.lock
	@if ! "$(BIN)/python" -c 'import plyvel' 2>/dev/null && ! $(PIP_LEVELDB); then \
	  echo "make setup: LevelDB's headers or a C++ compiler are missing, so that a" >&2; \
	  echo "node of this environment runs in memory only, and tests of folders" >&2; \
	  echo "fail: CPython 3.13 has no ready plyvel. Debian: apt-get install g++" >&2; \
	  echo "libleveldb-dev, then remove $(VENV) and try again." >&2; \
	fi
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation -e .
	@touch "$@"

# Of an installed wheel pip compiles all; of this checkout nobody does where an
# environment has PYTHONDONTWRITEBYTECODE, and each start would compile 200 modules.
.PHONY: bytecode
bytecode: $(STAMP)
	@"$(BIN)/python" -m compileall -q node pvm

.PHONY: demo
demo: bytecode ## a node, a deployed actor, its timers firing: seen in ten seconds
	@"$(BIN)/python" scripts/demo.py $(ARGS)

.PHONY: run
run: bytecode ## start a node in ./devnet-data (ARGS="--data-dir :memory:")
	@exec "$(BIN)/cowboy-devnet" start $(ARGS)

.PHONY: format
format: $(STAMP) ## rewrite the sources in the project's form
	"$(BIN)/ruff" check --fix-only --quiet .
	"$(BIN)/ruff" format .

CHECKS := check-format check-lint check-types check-api check-imports \
	check-proto check-sync check-tree

# Side by side, the output of each in one piece, all of them even where one fails.
.PHONY: check
check: $(STAMP) ## everything static, under 15 seconds
	@$(MAKE) --no-print-directory --keep-going --jobs $(PIECES) $(CHECKS)

# GNU make 3.81, which macOS has, knows no pieces.
PIECES := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: $(CHECKS)
$(CHECKS): $(STAMP)
check-format:
	"$(BIN)/ruff" format --check .
check-lint:
	"$(BIN)/ruff" check .
check-types:
	"$(BIN)/mypy"
	"$(BIN)/mypy" --config-file= --strict stubs
check-api:
	"$(BIN)/basedpyright" --pythonpath "$(BIN)/python"
check-imports:
	"$(BIN)/lint-imports" --no-logo
check-proto:
	"$(BIN)/python" scripts/genproto.py --check
check-sync:
	"$(BIN)/python" scripts/gensync.py --check
check-tree:
	"$(BIN)/python" scripts/gentree.py --check

.PHONY: test
test: bytecode ## what a person runs, under three minutes
	"$(BIN)/python" -m pytest -q -n auto -m "not slow and not e2e and not browser and not npm" $(ARGS)

.PHONY: test-typescript
test-typescript: $(STAMP) ## build, test and pack the TypeScript client, against a node
	"$(BIN)/python" scripts/typescript.py test

# Counted are nodes that are not confined: coverage writes its file where they must not.
.PHONY: test-long
test-long: bytecode ## properties, worlds and slow tests at length, then coverage
	"$(BIN)/python" -m tests.simulation --quiet --seed 1000000 --worlds 1200
	HYPOTHESIS_PROFILE=ci "$(BIN)/python" -m pytest -q -n auto tests/property \
	  tests/differential
	"$(BIN)/python" -m pytest -q -n auto -m "slow and not e2e" \
	  --ignore tests/property --ignore tests/differential
	"$(BIN)/coverage" erase
	COWBOY_DEVNET_CONFINE=off "$(BIN)/coverage" run -m pytest -q -n auto \
	  -m "not slow and not e2e and not browser and not npm" $(ARGS)
	"$(BIN)/coverage" combine --quiet
	"$(BIN)/coverage" report

.PHONY: e2e
e2e: $(STAMP) ## the devnet in containers, from outside; needs Docker
	"$(BIN)/python" -m pytest -q -m e2e tests/e2e $(ARGS)

# What drives the browser is no part of the environment until somebody asks for it.
BROWSER := $(VENV)/.browser

$(BROWSER): requirements/browser.lock $(STAMP)
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
	  --require-hashes -r requirements/browser.lock
	@touch "$@"

.PHONY: test-page
test-page: $(BROWSER) bytecode ## the page in Chromium, and pictures of it in build/page
	"$(BIN)/python" -m pytest -q -n 2 --dist loadfile -m browser tests/browser $(ARGS)

.PHONY: test-toolkit
test-toolkit: $(STAMP) ## what GitHub is told beside its own toolkit, which npm fetches
	"$(BIN)/python" -m pytest -q -m npm tests/toolkit $(ARGS)

.PHONY: page-pictures
page-pictures: $(BROWSER) bytecode ## take the pictures of docs/page.md anew
	PAGE_PICTURES=docs/images "$(BIN)/python" -m pytest -q -m browser \
	  tests/browser/test_pictures.py $(ARGS)

.PHONY: fuzz
fuzz: $(STAMP) ## programs by a grammar, against the sandbox (SECONDS=300 SEED=7)
	"$(BIN)/python" -m tests.fuzz --seconds $(SECONDS) $(FUZZ_SEED) $(ARGS)

.PHONY: fuzz-hostile
fuzz-hostile: $(STAMP) ## hostile programs, judged by time, memory, reach and interpreters
	"$(BIN)/python" -m tests.fuzz --hostile --seconds $(SECONDS) $(FUZZ_SEED) $(ARGS)

.PHONY: fuzz-server
fuzz-server: $(STAMP) ## the ports of a node and the commands, against bytes of all kinds
	"$(BIN)/python" -m tests.fuzz_server --seconds $(SECONDS) $(FUZZ_SEED) $(ARGS)

.PHONY: properties
properties: export HYPOTHESIS_PROFILE = nightly
properties: $(STAMP) ## the property tests alone, ten thousand examples each
	"$(BIN)/python" -m pytest -q tests/property tests/differential/test_calendar.py \
		$(ARGS)

.PHONY: simulate
simulate: bytecode ## small worlds that crash, checked after each block (SEED=7 WORLDS=1)
	@"$(BIN)/python" -m tests.simulation --seed $(SEED) --worlds $(WORLDS) $(ARGS)

.PHONY: simulate-auction
simulate-auction: $(STAMP) ## CIP-1 §16 by experiment, and its page; 20 minutes of a core
	@"$(BIN)/python" scripts/simulate_auction.py $(ARGS)

.PHONY: compare-rules
compare-rules: $(STAMP) ## the same worlds under all timer rules, and their page; 3 minutes of a core
	@"$(BIN)/python" scripts/compare_rules.py $(ARGS)

.PHONY: bench
bench: bytecode ## measure, and write docs/performance.md
	@"$(BIN)/python" scripts/bench.py $(ARGS)

FILLED ?= build/ten-million

.PHONY: bench-scale
bench-scale: bytecode ## the same with ten million timers: minutes, and 2.1 GiB in FILLED
	@test -d "$(FILLED)" || \
	"$(BIN)/python" scripts/fill_timers.py "$(FILLED)" --schedulers 400
	@"$(BIN)/python" scripts/bench.py --filled "$(FILLED)" $(ARGS)

.PHONY: sync
sync: $(STAMP) ## write the clients without an event loop from those with one
	@"$(BIN)/python" scripts/gensync.py

.PHONY: proto
proto: $(STAMP) ## generate node/rpc/v1 from proto/
	@"$(BIN)/python" scripts/genproto.py

.PHONY: tree
tree: $(STAMP) ## write the tree of ARCHITECTURE.md from the packages' docstrings
	@"$(BIN)/python" scripts/gentree.py

.PHONY: vectors
vectors: $(STAMP) ## write tests/vectors anew; review the difference as a consensus change
	@"$(BIN)/python" scripts/fill_vectors.py $(ARGS)

.PHONY: dist
dist: $(STAMP) ## build dist/ from the tag of this version, checked (ARGS=v0.1.0)
	@"$(BIN)/python" scripts/build_dist.py $(ARGS)
