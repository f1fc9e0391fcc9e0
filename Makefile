# kafkatx: the commands of its house. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/kafkatx-installed

# make run PORT=9192 DATA=/tmp/kafka OPTIONS="--set num.partitions=4"
PORT ?=
DATA ?=
OPTIONS ?=
CONFIG ?= etc/server.properties
# make demo INPUT=access.log
INPUT ?=
# make demo-pipeline INPUT=access.log DROP=1 KEEP=folder
DROP ?=
KEEP ?=
# make clients CLIENTS="kcat aiokafka" FEATURE=transactions CONTROL=1, or BROKERS=3 ONLY=leader
CLIENTS ?=
FEATURE ?=
CONTROL ?=
BROKERS ?=
ONLY ?=
ZOOKEEPER ?=
# make streams STREAMS=3.9.1
STREAMS ?= 4.3.1
# make tests TESTS=tests.wire
TESTS ?=
# make bench SYSTEMS=kafkatx,kafka-4 EXPERIMENTS=ab ROUNDS=5 SCALE=0.5
SYSTEMS ?=
EXPERIMENTS ?=
ROUNDS ?=
SCALE ?=
# make versions VERSION=3.10
VERSION ?=
# make bench-guard BASE=v0.1
BASE ?=

.DEFAULT_GOAL := help
.PHONY: help install long run zookeeper zookeeper-groups demo demo-pipeline test tests gates lint lint-style lint-types lint-imports docs documents clean interop takeover clients faults faults-cluster links streams copiers attack fuzz-logins browser console-pictures versions vendor simulation simulate bench bench-quick bench-guard authorization

help:
	@echo 'make run                  start a broker on 127.0.0.1:9092, data under ./data; Ctrl-C stops it'
	@echo '                          (PORT=9192, DATA=DIR, OPTIONS="--set name=value" change that)'
	@echo 'make zookeeper            start a ZooKeeper for trials on 127.0.0.1:2181, data under ./zookeeper-data (PORT=, DATA=)'
	@echo 'make demo [INPUT=FILE]    a tour: lines of FILE (or the git history) through three brokers and PySpark to Parquet, and the console'
	@echo 'make demo-pipeline        two data centres, a mirror, ingestion by PySpark and the audit of all that went through'
	@echo '                          (INPUT=FILE; DROP=1 loses a message on purpose; KEEP=DIR keeps everything; needs Java)'
	@echo 'make install              create .venv with kafkatx and every extra (PYTHON=python3.12 chooses one)'
	@echo 'make test                 lint, types, import floors, docs, then every test'
	@echo 'make tests [TESTS=tests.wire]  the tests alone, or some of them'
	@echo 'make interop              Apache Kafka and its Spark source beside ours (needs Java and Maven)'
	@echo 'make zookeeper-groups     our consumers and those of Apache Kafka 0.8 in one group over ZooKeeper, which come and go for'
	@echo '                          MINUTES=5 (SEED=1 chooses who; needs Java and Maven)'
	@echo 'make authorization        what each API needs, by the same requests to kafkatx and to Apache Kafka 4 (needs Java and Maven)'
	@echo 'make takeover             kafkatx takes over a ZooKeeper cluster of Apache Kafka, and back (needs Java and Maven)'
	@echo 'make clients [BROKERS=3]  Kafka clients against this broker, into docs/clients.md (Java, Node and Go where they are);'
	@echo '                          with BROKERS=3 against a cluster, whose leaders die, too (ONLY=leader: that alone,'
	@echo '                          in twenty minutes; ZOOKEEPER=1: its state is in ZooKeeper; ONLY=security: TLS and logins'
	@echo '                          by each mechanism, and logins again for MINUTES=10, with JOBS=9 at the same time)'
	@echo 'make faults               power cuts, kill -9 and full disks, many of each (half an hour; needs root)'
	@echo 'make faults-cluster       a cluster of three brokers and ZooKeeper under faults for MINUTES=60, and the check of what'
	@echo '                          clients saw (SEED=1 chooses the faults; as root with disks that fill; SECURE=1: with TLS and'
	@echo '                          logins everywhere, certificates that are renewed and users that are removed)'
	@echo 'make links [SOURCE=kafkatx]  a mirror of five million records of Apache Kafka 4, both ends killed ten times each, and'
	@echo '                          the comparison of all (RECORDS=, MINUTES=6, KILLS=10, SEED=1; needs Java and Maven)'
	@echo 'make streams              the word count of Kafka Streams, exactly_once_v2, for MINUTES=3; its instances and the broker are'
	@echo '                          killed KILLS=5 times each, and all counts are right (RATE=200, SEED=1; needs Java and Maven)'
	@echo 'make copiers [BROKERS=3]  transactional copiers of all clients at once, killed with their brokers for MINUTES=10, and'
	@echo '                          the check that each record was copied once (CLIENTS="java-4 librdkafka", SEED=1)'
	@echo 'make long                 tests that are too long for make test, most of them with Spark (15 minutes; one needs'
	@echo '                          shared/data/access.log.gz)'
	@echo 'make versions             the unit tests on each version of Python that is claimed, and on the lowest versions of libraries'
	@echo '                          (a quarter of an hour each; VERSION=3.10 or VERSION=lowest chooses one)'
	@echo 'make attack               what one client can do to others, in full size (at most ten minutes)'
	@echo 'make fuzz-logins          100,000 damaged frames before a login, and as many after it (FRAMES=)'
	@echo 'make browser              the console with a million records and 40,000 partitions, in Chromium'
	@echo 'make console-pictures     the pictures of docs/console-tour.md, of a cluster with live traffic (ten minutes)'
	@echo 'make vendor               the libraries of the console anew, from npm'
	@echo 'make simulation           five brokers in one process, by chance: every mutant found, then seeds for SECONDS=600'
	@echo 'make simulate SEEDS=1000   whole brokers that copy partitions, by chance, for at most SECONDS=600; MUTANTS=1 finds mutants'
	@echo 'make bench                the experiments of docs/performance.md, into docs/performance (hours; SYSTEMS=kafkatx,kafka-4'
	@echo '                          EXPERIMENTS=ab ROUNDS=5 SCALE=0.5 change that; needs gcc, librdkafka, Java and Maven)'
	@echo 'make bench-quick          some of them, small and once, into .interop/bench/quick (under ten minutes)'
	@echo 'make bench-guard [BASE=COMMIT]  is the tree slower than a commit, by 10%? (some minutes; valgrind, too, where it is)'
	@echo 'make lint                 ruff, mypy --strict, import-linter'
	@echo 'make gates                lint, and the tests that read every docstring and the layout (a minute)'
	@echo 'make docs                 build the documentation into docs/_build/html'
	@echo 'make documents            write the generated pages and the sample settings anew'
	@echo 'make clean                remove what was built; .venv and data stay'

install: $(STAMP)

# An editable install in "compat" mode puts this folder itself on the path, so that twistd finds
# twisted/plugins/kafkatx_plugin.py; setuptools' default mode would hide it. Source edits need no new install.
$(STAMP): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "kafkatx needs Python 3.10 or newer; '$(PYTHON)' is not: name one with make PYTHON=python3.12" >&2; \
	  exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian: apt-get install python3-venv" >&2; \
	  exit 1; }
	@echo "Installing kafkatx and its extras into $(VENV); PySpark is about 450 MB, this takes some minutes."
	@if [ -t 1 ]; then quiet=; else quiet=--quiet; fi; \
	  $(BIN)/python -m pip install $$quiet --disable-pip-version-check \
	    --editable '.[all]' --config-settings editable_mode=compat
	@touch $@

run: install
	@exec $(BIN)/kafkatx up --config $(CONFIG) $(if $(PORT),--port $(PORT)) $(if $(DATA),--data $(DATA)) $(OPTIONS)

# From the jars inside pyspark; needs Java. make run OPTIONS="--zookeeper 127.0.0.1:2181/kafka" uses it.
zookeeper: install
	@exec $(BIN)/python -m kafkatx.testing.zookeeper $(if $(PORT),--port $(PORT)) $(if $(DATA),--data $(DATA))

demo: install
	@$(BIN)/python -m kafkatx.demo $(if $(INPUT),'$(INPUT)')

# Ends with 1 if the audit finds a record missing or doubled, as with DROP=1.
demo-pipeline: install
	@$(BIN)/python -m kafkatx.demo.pipeline $(if $(DROP),--drop) $(if $(KEEP),--keep '$(KEEP)') $(if $(INPUT),'$(INPUT)')

lint: install
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint-style lint-types lint-imports

lint-style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check

lint-types:
	$(BIN)/mypy

lint-imports:
	$(BIN)/lint-imports

# What is decided in a minute, before an hour of processors goes into the rest.
gates: lint
	@$(BIN)/python -m tests.run tests.test_english tests.test_layout

docs: install
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

documents: install
	$(BIN)/python -m kafkatx.config.documents etc/server.properties docs/settings.md
	$(BIN)/python -m kafkatx.clientcore.documents docs/client-settings.md
	$(BIN)/python -m kafkatx.mirror.documents docs/mirror-settings.md
	$(BIN)/python -m kafkatx.wire.documents docs/protocol.md
	$(BIN)/python -m kafkatx.broker.authorization.documents docs/authorization.md
	$(BIN)/python -m kafkatx.group.documents docs/group-states.md
	$(BIN)/python -m kafkatx.transactions.documents docs/transaction-states.md
	$(BIN)/python -m kafkatx.broker.metrics.documents docs/metrics.md etc/grafana/kafkatx.json etc/prometheus/alerts.yml
	$(BIN)/python -m tests.schemas.verdicts.document docs/schema-compatibility.md

tests: install
	@$(BIN)/python -m $(if $(TESTS),tests.run $(TESTS),tests.together)

versions: install
	@$(BIN)/python -m tests.versions $(VERSION)

long: install
	@$(BIN)/python -m tests.run tests.long

# The last line is Spark's Kafka source beside ours, in a PySpark of the version that Maven has it for.
interop: install .interop/jars .interop/jars-0.8 .interop/jars-avro
	@$(BIN)/python -m tests.run tests.interop.acls tests.interop.assignors tests.interop.avro_values tests.interop.client_consumer tests.interop.client_metrics tests.interop.client_suite \
	  tests.interop.client_transactions \
	  tests.interop.dump_tool tests.interop.java_tools tests.interop.kafka_logs tests.interop.logins tests.interop.mirror_links \
	  tests.interop.mirrored_batches tests.interop.mirrors \
	  tests.interop.next_requests tests.interop.nodes tests.interop.quotas tests.interop.transactions_tool \
	  tests.interop.spark_sink tests.interop.subscription_pattern tests.interop.zookeeper_groups
	@$(BIN)/python -c 'from tests.clients.toolchains import prepare; prepare("spark")'
	@PYTHONPATH=$(CURDIR) .interop/clients/spark/bin/python -m tests.run tests.interop.spark.same_answers

# Bounded: MINUTES of changes, and at most ten more for start, settling and checks.
zookeeper-groups: install .interop/jars-0.8
	@timeout --signal=INT --kill-after=30 $(shell expr 60 \* $(or $(MINUTES),5) + 600) \
	  $(BIN)/python -m tests.interop.zookeeper_groups --minutes $(or $(MINUTES),5) --seed $(or $(SEED),1)

# Some minutes; the same requests at a kafkatx broker and at Apache Kafka 4.
authorization: install
	@timeout --signal=INT --kill-after=30 1800 $(BIN)/python -m tests.run tests.interop.authorization

takeover: install .interop/jars
	@$(BIN)/python -m tests.run tests.interop.takeover

# Apache Kafka, as tests/interop/pom.xml names it; remove the folder to fetch it anew.
.interop/jars: tests/interop/pom.xml
	@mvn --quiet --batch-mode --file tests/interop/pom.xml dependency:copy-dependencies \
	  -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@
	@touch $@

.interop/jars-avro: tests/interop/avro/pom.xml
	@mvn --quiet --batch-mode --file tests/interop/avro/pom.xml dependency:copy-dependencies \
	  -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@
	@touch $@

.interop/jars-0.8: tests/interop/old/pom.xml
	@mvn --quiet --batch-mode --file tests/interop/old/pom.xml dependency:copy-dependencies \
	  -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@
	@touch $@

# ONLY=security tries logins over TLS by each mechanism, and for MINUTES=0.5 logins again while a client produces.
# CLIENTS="kcat aiokafka" chooses rows, FEATURE=transactions one feature, CONTROL=1 runs them against Apache Kafka
# instead. BROKERS=3 runs them against a cluster with three copies of each topic, and then lets a leader die under
# them. ONLY=features or ONLY=leader leaves the other out; ZOOKEEPER=1 lets leaders
# die in clusters with ZooKeeper.
clients: install
	@$(BIN)/python -m tests.clients --jobs $(or $(JOBS),2) --write $(if $(MINUTES),--minutes $(MINUTES)) $(if $(BROKERS),--brokers $(BROKERS)) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(FEATURE),--feature '$(FEATURE)') $(if $(ZOOKEEPER),--zookeeper) $(if $(CONTROL),--broker apache) $(CLIENTS)

# Bounded: each suite makes a fixed number of rounds. The full disk is a tmpfs, and mounting one needs root.
faults: install
	@$(BIN)/python -m tests.run tests.faults.full_disk tests.faults.kill tests.faults.power_cut tests.faults.groups \
	  tests.faults.many_brokers tests.faults.client_suite tests.faults.ingest tests.faults.spark_restarts tests.faults.spark_sink \
	  tests.faults.spark_standalone

# Bounded: MINUTES of faults, and at most fifteen more for start, settling and checks.
faults-cluster: install
	@timeout --signal=INT --kill-after=30 $(shell expr 60 \* $(or $(MINUTES),60) + 900) \
	  $(BIN)/python -m tests.cluster --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED)) $(if $(SECURE),--secure)

# Bounded: MINUTES of load with kills, and at most half an hour more for starts, settling and checks.
links: install
	@timeout --signal=INT --kill-after=30 $(shell expr 60 \* $(or $(MINUTES),6) + 1800) \
	  $(BIN)/python -m tests.links --source $(or $(SOURCE),apache-4) --records $(or $(RECORDS),5000000) \
	  --minutes $(or $(MINUTES),6) --kills $(or $(KILLS),10) --seed $(or $(SEED),1)

# Bounded: MINUTES of lines with kills, and at most fifteen more for starts, settling and checks.
streams: install .interop/streams-$(STREAMS)
	@timeout --signal=INT --kill-after=30 $(shell expr 60 \* $(or $(MINUTES),3) + 900) \
	  $(BIN)/python -m tests.streams --version $(STREAMS) --minutes $(or $(MINUTES),3) --kills $(or $(KILLS),5) \
	  --rate $(or $(RATE),200) --seed $(or $(SEED),1)

# Kafka Streams of a version: make streams STREAMS=3.9.1 uses the older protocol of transactions.
.interop/streams-%: tests/streams/pom.xml
	@mvn --quiet --batch-mode --file tests/streams/pom.xml dependency:copy-dependencies \
	  -Dkafka.version=$* -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@
	@touch $@

# Bounded: MINUTES of kills, and at most twenty more for start, draining and checks.
copiers: install
	@timeout --signal=INT --kill-after=30 $(shell expr 60 \* $(or $(MINUTES),10) + 1200) \
	  $(BIN)/python -m tests.copiers --minutes $(or $(MINUTES),10) --brokers $(or $(BROKERS),1) \
	  --seed $(or $(SEED),1) --clients '$(CLIENTS)'

# make test has the journeys; these take minutes.
browser: install
	@$(BIN)/python -m tests.run tests.browser.large

console-pictures: install
	@$(BIN)/python -m tests.browser.pictures docs/console

# Needs npm; tests/browser/vendor.py names the versions.
vendor: install
	@$(BIN)/python -m tests.browser.vendor

simulation: install
	@timeout --signal=INT --kill-after=30 1800 $(BIN)/python -m tests.simulation --mutants
	@$(BIN)/python -m tests.simulation --seconds $(or $(SECONDS),600)
	@$(BIN)/python -m tests.simulation.restored --mutants
	@$(BIN)/python -m tests.simulation.restored --seconds $(or $(SECONDS),600)

# Bounded by SEEDS and SECONDS, or by the seeds for each mutant.
simulate: install
	@$(BIN)/python -m tests.simulation.replication $(if $(MUTANTS),--mutants) \
	  --seeds $(or $(SEEDS),1000) --seconds $(or $(SECONDS),600) --first $(or $(FIRST),0)
	@$(BIN)/python -m tests.simulation.mirror $(if $(MUTANTS),--mutants) \
	  --seeds $(or $(SEEDS),1000) --seconds $(or $(SECONDS),600) --first $(or $(FIRST),0)

# Bounded: each attack has a fixed size, and the whole ends after ten minutes whatever happens.
attack: install
	@KAFKATX_ATTACK=full timeout --signal=INT --kill-after=30 600 $(BIN)/python -m tests.run tests.attack \
	  tests.decoders.test_access_log tests.integration.test_bad_input tests.integration.test_soak \
	  tests.integration.test_spark_memory tests.integration.test_cli_groups tests.integration.test_transactions \
	  tests.integration.test_consumer.MemoryTests

fuzz-logins: install
	@KAFKATX_FUZZ_FRAMES=$(or $(FRAMES),100000) $(BIN)/python -m tests.run tests.broker.logins.test_fuzz \
	  tests.broker.authorization.test_fuzz

# PNGs take matplotlib, of the extra "plot".
bench: install
	@$(BIN)/python -m benchmarks.compare $(if $(SYSTEMS),--systems $(SYSTEMS)) \
	  $(if $(EXPERIMENTS),--experiments $(EXPERIMENTS)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(SCALE),--scale $(SCALE))

# Its figures are too few for docs/performance.
bench-quick: install
	@$(BIN)/python -m benchmarks.compare --quick --to .interop/bench/quick $(if $(SYSTEMS),--systems $(SYSTEMS))

bench-guard: install
	@$(BIN)/python -m benchmarks.guard $(BASE)

# The gates stop the run. What comes after them writes nothing that another one reads.
test: install
	@$(MAKE) --no-print-directory gates
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target docs $(VENV)/spark.jsa
	@$(MAKE) --no-print-directory tests

# Not needed, but with it each Spark of the tests starts in half the time. Without it they start, too.
$(VENV)/spark.jsa: $(STAMP)
	-@$(BIN)/python -m tests.spark_archive $@

clean:
	rm -rf build dist docs/_build kafkatx.egg-info _trial_temp* _flaky .mypy_cache .ruff_cache .hypothesis
	find kafkatx twisted tests -name __pycache__ -prune -exec rm -rf {} +
	find kafkatx twisted -name dropin.cache -delete
