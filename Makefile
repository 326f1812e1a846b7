# make run   measure this machine and explain what was found
# make test  set up and run the tests, C++ and Python: of six workers one has hosts, one commands, one ranks
# make test-all  those, and the slow ones of rare paths and whole matrices
# make try CASE='mpi.latency message_bytes=64'   compile what was edited and run one case on 2 (RANKS=) ranks
# make check a verdict in two minutes: style, types, imports, and all tests that compile, start and simulate nothing
# make fuzz  hostile input at the doors for an hour (FUZZ_S=): a server, push and pull, import, anonymize
# make picture  the pictures of the documents, from a new run and in Chromium
# make site  the documents with search, in build/site
# make wheel  dist/: a wheel with programs for every MPI, which needs no compiler
# make clean remove what the others made, runs/ excepted

PYTHON ?= python3
PYTEST_OPTIONS ?=
# Every command would translate the modules of Scope anew where a site forbids to keep them.
export PYTHONDONTWRITEBYTECODE =
# Ranks of Open MPI that wait leave their processor to the other workers.
test test-all: export OMPI_MCA_mpi_yield_when_idle = 1
# A quarter of the compiler's work less; `make run` and `make test-all` compile as for users.
test: export CXXFLAGS = -O1
PIP = .venv/bin/pip --disable-pip-version-check --quiet
NEW_CMAKE_AND_NINJA = printf '3.25\n%s\n' "$$(cmake --version 2>/dev/null | grep -om1 '[0-9.]*')" | sort -VC && ninja --version >/dev/null 2>&1

.PHONY: run test test-all try check fuzz picture site wheel clean

run: .venv/product
	.venv/bin/scope run

# Every worker would translate the modules of Scope and of the tests, all at the same time.
test: .venv/development .mpi/mpich
	.venv/bin/python -m compileall -qq -j 0 hpcscope
	find tests -name 'test_*.py' -print0 | xargs -0 -P 2 -n 90 .venv/bin/pytest --collect-only -qq >/dev/null
	.venv/bin/pytest -n 6 --dist loadscope --no-loadscope-reorder -m "not slow" $(PYTEST_OPTIONS)

test-all: .venv/development .mpi/mpich
	.venv/bin/pytest -n 4 --dist loadscope --no-loadscope-reorder $(PYTEST_OPTIONS)

check: .venv/development
	.venv/bin/pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not mpi and not simulation and not slow" $(PYTEST_OPTIONS)

# In memory: most of an input's time is that of small files.
FUZZ_S ?= 3600
fuzz: .venv/development
	folder=$$(mktemp -d -p /dev/shm) && TMPDIR=$$folder .venv/bin/python benchmarks/fuzz.py --seconds $(FUZZ_S) \
	  --seed $${SEED:-1}; code=$$?; rm -rf "$$folder"; exit $$code

# The first screen of a run, as the README shows it, and more of it with numbers for the tutorial.
picture: .venv/development
	rm -rf build/picture && .venv/bin/scope run --output build/picture
	.venv/bin/python -m tests.documents.pictures build/picture

# Links between pages lead across the tree, so that the pages keep their directories.
site: .venv/documents
	rm -rf build/pages build/site && mkdir -p build/pages
	git ls-files -z '*.md' 'docs/*' | xargs -0 cp --parents -t build/pages
	SITE_NAME="Scope $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' hpcscope/version.py)" .venv/bin/mkdocs build --strict --quiet

wheel: .venv/development .mpi/mpich
	.venv/bin/python packaging/wheel.py

# Only the edited source is compiled: users' builds compile many together.
RANKS ?= 2
try: export OMPI_ALLOW_RUN_AS_ROOT = 1
try: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
try: build/try/build.ninja
	@cmake --build build/try --target scope-measure -- --quiet
	@.venv/bin/mpiexec --oversubscribe -n $(RANKS) build/try/scope-measure --action=alone '--case=$(CASE)'

build/try/build.ninja: | .venv/development
	.venv/bin/python -m tests.native_edit_loop build/try

.venv/bin/python:
	$(PYTHON) -m venv .venv

# pip would translate every module on one processor, those of the packages' own tests, too.
.venv/product: requirements/product.txt requirements/build.txt pyproject.toml | .venv/bin/python
	$(PIP) install --no-compile -r requirements/product.txt
	$(NEW_CMAKE_AND_NINJA) || $(PIP) install --no-compile -r requirements/build.txt
	$(PIP) install --no-deps --editable .
	-.venv/bin/python -m compileall -qq -j 0 -x /tests/ .venv/lib
	touch $@

.venv/development: requirements/development.txt requirements/arrow.txt requirements/figure.txt requirements/postgresql.txt requirements/serve.txt requirements/wheel.txt .venv/product
	$(PIP) install --no-compile -r requirements/development.txt
	touch $@

.venv/documents: requirements/docs.txt | .venv/bin/python
	$(PIP) install --no-compile -r requirements/docs.txt
	touch $@

# The alternative MPI has a prefix of its own: both name their compiler mpicxx.
.mpi/mpich: requirements/mpich.txt | .venv/bin/python
	$(PIP) install --prefix $(CURDIR)/.mpi/mpich -r requirements/mpich.txt
	touch $@

clean:
	rm -rf .venv .mpi build
