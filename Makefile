# Everything runs in .venv of this folder. `make setup` is quick when nothing changed.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A session of Spark or an Airflow seldom keeps more than one core busy. Where tests of a file share what takes long to
# make, each process takes whole files.
TWICE := --numprocesses 2
THRICE := --numprocesses 3
FILES := --dist loadfile
QUICK := "not nightly and not soak"
# What tests share: their types are checked.
HELPERS := tests/every_kind.py tests/tables tests/unit/damages $(filter-out tests/unit/conftest.py,$(wildcard tests/unit/*.py))
# Further runs of the example DAGs.
EXAMPLES := tests/system/test_example_dags.py tests/system/test_migration.py
S3 := .venv-s3
PLATFORMS := .venv-platforms
STORES := .stores
GCS := .stores-gcs
GCS_SERVER := $(GCS)/server/fake-gcs-server
AZURITE := $(STORES)/azurite/node_modules/.bin/azurite-blob

.PHONY: setup test nightly unit airflow spark system soak kills images browser lineage incidents migrations cluster s3 azure gcs catalogs matrix matrix-short measure platforms corpora lint docs site demo dist changelog benchmark benchmark-scale clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt scripts/check_machine.sh
	@sh scripts/check_machine.sh $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what constraints.txt pins into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

# For every change: all tiers, the quick ones first. Of the last two, each kind of job once.
test: setup lint site unit airflow
	$(BIN)/python -m pytest $(THRICE) $(FILES) -m $(QUICK) tests/spark
	$(BIN)/python -m pytest $(TWICE) $(FILES) -m $(QUICK) tests/system

# For every day: the last two tiers as a whole, other releases, and the demo.
nightly: setup spark system matrix-short demo

unit: setup
	$(BIN)/python -m pytest $(TWICE) --dist worksteal tests/unit

airflow: setup
	$(BIN)/python -m pytest $(TWICE) $(FILES) tests/airflow

spark: setup
	$(BIN)/python -m pytest $(THRICE) $(FILES) tests/spark

system: setup
	$(BIN)/python -m pytest $(TWICE) $(FILES) tests/system

# Not part of `make test`: long histories, and further variants of its tests; in a Spark session as users get it. Some tables
# are made by other libraries, each in an environment of its own below build/engines, where `make measure` has its own (3 GB).
soak: setup
	$(BIN)/python -m pytest $(TWICE) -m soak tests/unit
	$(BIN)/python -m pytest --as-shipped -m soak tests/spark
	$(BIN)/python -m pytest -m soak $(EXAMPLES)

# Not part of `make test` either: twenty minutes in a real scheduler, in which audits are killed at every point, and jobs of
# a migration of five tables.
kills: setup
	$(BIN)/python -m pytest -m soak tests/system $(EXAMPLES:%=--ignore %)

# Nor this: `delta-provider warm-up` by one user, and the first task of another, without a home and a network. It takes root,
# and a Python that other users can run. The lines of the guide's Dockerfile are run in a copy of the machine, in memory (2 GB).
images: setup
	$(BIN)/python -m pytest -m soak tests/images

# Nor this: the pages in Airflow's UI, from Airflow's own services, and mails, in Chromium (which is not installed with the
# others: apt-get install chromium). IMAGES=docs/images stores the pictures of the docs.
browser: setup
	$(BIN)/python -m pytest -m soak tests/browser $(if $(IMAGES),--images $(IMAGES))

# Nor this: DAG runs with OpenLineage's provider, which is installed beside the environment.
lineage: setup .lineage/.installed
	PYTHONPATH=$(CURDIR)/.lineage$${PYTHONPATH:+:$$PYTHONPATH} $(BIN)/python -m pytest -m soak tests/lineage

# Nor this: incidents in services that a local server stands for, by Airflow's providers, beside the environment; also through
# a real scheduler.
incidents: setup .incidents/.installed
	PYTHONPATH=$(CURDIR)/.incidents$${PYTHONPATH:+:$$PYTHONPATH} $(BIN)/python -m pytest -m soak tests/incidents

.incidents/.installed: tests/incidents/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .incidents --requirement $<
	@touch $@

.lineage/.installed: tests/lineage/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .lineage --requirement $<
	@touch $@

# Nor this: migrations that are killed at every point, and among eight other writers (half an hour).
migrations: setup
	$(BIN)/python -m pytest -m soak tests/spark/test_migration_under_load.py

# Nor this: Hadoop's YARN and HDFS on loopback (100 MB are downloaded, by Maven), a standalone cluster of Spark, a stand-in for
# the API of Kubernetes, drivers in deploy mode cluster, and what is killed meanwhile: workers, drivers, masters (an hour).
cluster: setup .minicluster .kubernetes/.installed
	PYTHONPATH=.kubernetes $(BIN)/python -m pytest tests/cluster --minicluster .minicluster

.kubernetes/.installed: tests/cluster/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .kubernetes --requirement $<
	@touch $@

.minicluster: tests/cluster/minicluster/pom.xml
	mvn --quiet --batch-mode -Dmaven.repo.local=$(CURDIR)/.minicluster-m2 --file $< \
	    dependency:build-classpath -Dmdep.outputFile=$(CURDIR)/$@

# Nor this: the DAGs of the guides of platforms, with the providers of Amazon, Google, Databricks and Livy (2 GB).
platforms: $(PLATFORMS)/.installed
	$(PLATFORMS)/bin/python -m pytest -m soak tests/platforms

$(PLATFORMS)/.installed: tests/platforms/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(PLATFORMS)
	$(PLATFORMS)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(PLATFORMS)/bin/uv pip install --quiet --python $(PLATFORMS)/bin/python --requirement $< --editable ".[local]" pytest pytest-xdist
	@touch $@

# Not part of `make test` either: some 900 MB are downloaded, of Amazon's client, and a server that conflicts with Airflow.
s3: setup $(S3)/bin/moto_server $(STORES)/.installed
	PYTHONPATH=$(STORES) $(BIN)/python -m pytest tests/s3 --s3-server $(S3)/bin/moto_server
	PYTHONPATH=$(STORES) $(BIN)/python -m pytest tests/unit/storage/test_fsspec_storage.py
	PYTHONPATH=$(STORES) $(BIN)/python -m pytest tests/stores --store s3=$(CURDIR)/$(S3)/bin/moto_server

$(S3)/bin/moto_server:
	$(PYTHON) -m venv $(S3)
	$(S3)/bin/python -m pip install --quiet --disable-pip-version-check "moto[server]==5.2.5"

# Nor this: it takes npm, besides.
azure: setup $(STORES)/.installed $(AZURITE)
	PYTHONPATH=$(STORES) $(BIN)/python -m pytest tests/stores --store azure=$(CURDIR)/$(AZURITE)

$(STORES)/.installed: tests/stores/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(STORES) --requirement $<
	@touch $@

$(AZURITE):
	npm install --silent --no-audit --no-fund --prefix $(STORES)/azurite azurite@3.35.0

# Nor this: it takes Go and Maven, besides. Maven has a repository of its own: in the user's, Spark would find
# descriptions of packages without their jars.
gcs: setup $(GCS)/.installed $(GCS_SERVER)
	PYTHONPATH=$(GCS) $(BIN)/python -m pytest tests/stores --store gcs=$(CURDIR)/$(GCS_SERVER)

$(GCS)/.installed: tests/stores/requirements-gcs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(GCS) --requirement $<
	@touch $@

$(GCS_SERVER):
	mvn --quiet --batch-mode -Dmaven.repo.local=$(CURDIR)/$(GCS)/m2 dependency:copy -DoutputDirectory=$(CURDIR)/$(@D) \
		-Dartifact=com.google.cloud.bigdataoss:gcs-connector:4.0.4:jar:shaded
	GOBIN=$(CURDIR)/$(@D) go install github.com/fsouza/fake-gcs-server@v1.56.1

# Nor this: tables by name in Hive's metastore, and a schema, audited by a submit.
catalogs: setup
	$(BIN)/python -m pytest -m soak tests/catalogs

# Nor this: the tests on releases of Airflow, Python, Spark and Delta, each in an environment of its own (1.2 GB for each
# Airflow, 0.5 GB for each Spark). ONLY=spark-3.5.9 chooses those whose names begin so; the results are kept for the docs.
matrix: setup
	$(BIN)/python -m scripts.matrix $(ONLY)
	$(BIN)/python -m scripts.generated_docs

# A few tests on a few of them: every kind of job once; imports, and DAGs that are parsed.
matrix-short: setup
	$(BIN)/python -m scripts.matrix --short $(ONLY)

# Nor this: tables that Delta Spark makes, read and appended to by releases of Delta Spark, deltalake, Polars and DuckDB, each
# in an environment of its own (some 8 GB). What they did is compared with their profiles.
measure: setup
	$(BIN)/python -m scripts.measure_engines build/engines
	$(BIN)/python -m scripts.measure_engines.comparison

# Nor this: audits every Delta log below LOGS, say test resources of public repositories, and compares what is found with
# what was judged (scripts/corpora.toml).
corpora: setup
	$(BIN)/python -m scripts.corpora $(LOGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy dags_examples
	$(BIN)/mypy $(HELPERS)
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.plain_english
	$(BIN)/python -m scripts.module_averages
	$(BIN)/towncrier build --draft --version next > /dev/null

# The pages that are made of the code, and the samples of reports in all pages.
docs: setup
	$(BIN)/python -m scripts.samples
	$(BIN)/python -m scripts.generated_docs

# The docs as a site, without a network: a link that leads nowhere, or a docstring that cannot be parsed, fails.
site: setup
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/site

demo: setup
	@$(BIN)/python -m demo

# What is released: wheel and sdist, the wheel of the command line alone, the command line as one file that needs nothing but
# Python, and the checksums of all.
dist: setup
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist standalone
	$(BIN)/python -m scripts.dist dist

# The next section of the changelog, from changes/; VERSION=X.Y.Z writes it.
changelog: setup
	$(BIN)/towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)

benchmark: setup
	$(BIN)/python -m benchmarks.widen_end_to_end
	$(BIN)/python -m benchmarks.widen_many_columns
	$(BIN)/python -m benchmarks.migrations
	$(BIN)/python -m benchmarks.migration_plans
	$(BIN)/python -m benchmarks.check_row_tracking
	$(BIN)/python -m benchmarks.audit_protocol
	$(BIN)/python -m benchmarks.file_statistics
	$(BIN)/python -m benchmarks.without_jvm
	$(BIN)/python -m benchmarks.start_up
	$(BIN)/python -m benchmarks.read_log
	$(BIN)/python -m benchmarks.object_store
	$(BIN)/python -m benchmarks.store_requests
	$(BIN)/python -m benchmarks.unmap
	$(BIN)/python -m benchmarks.watch_tables
	$(BIN)/python -m benchmarks.watch_many_tables
	$(BIN)/python -m benchmarks.tables_page
	$(BIN)/python -m benchmarks.check_paimon_metadata
	$(BIN)/python -m benchmarks.check_paimon_rows

# Not part of `make benchmark`, as it takes long: curves over files, commits and tables, beside deltalake and Spark; large
# checkpoints and many merges; and a report about many tables, opened in Chromium if it is installed.
benchmark-scale: setup
	$(BIN)/python -m benchmarks.curves
	$(BIN)/python -m benchmarks.scale 1000000
	$(BIN)/python -m benchmarks.large_checkpoints 5000000 1
	$(BIN)/python -m benchmarks.large_tables 100000
	$(BIN)/python -m benchmarks.large_changes 100000

clean:
	rm -rf $(VENV) .lineage .incidents .kubernetes .minicluster .minicluster-m2 $(S3) $(STORES) $(GCS) $(PLATFORMS) .venv-matrix .demo build dist *.egg-info
