"""The scenario of Apache Kafka's command-line tools. The variant is their version: ``3.9``, ``4``.

Each runs as its shell script would run it, without the script. Topics that a feature only needs are made by
librdkafka, and it tells who owns what in a group of console consumers, for these say nothing of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from tests.clients.features import PARTITIONS
from tests.clients.scenario import (
    BIG,
    SENT,
    WAIT_S,
    Pair,
    Scenario,
    Told,
    check_keyed,
    main,
    new_name,
    same,
    until,
)
from tests.clients.toolchains import BUILT, java
from tests.clients.topics import new_topic

_TOOLS = "org.apache.kafka.tools"
TOPICS = f"{_TOOLS}.TopicCommand"
CONSUMER = f"{_TOOLS}.consumer.ConsoleConsumer"
GROUPS = f"{_TOOLS}.consumer.group.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
PERFORMANCE = f"{_TOOLS}.ProducerPerformance"
DELETE_RECORDS = f"{_TOOLS}.DeleteRecordsCommand"
OFFSETS = f"{_TOOLS}.GetOffsetShell"

_CODECS = ("gzip", "snappy", "lz4", "zstd")
_PLACE = re.compile(r"^Partition:(\d+)\tOffset:(\d+)\t([^\t]*)\t(.*)$")


class Tools(Scenario):
    """kafka-topics, kafka-console-producer and -consumer, kafka-consumer-groups, kafka-configs, ..."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        from confluent_kafka.admin import AdminClient

        super().__init__(variant, bootstrap)
        self._jars = os.path.join(BUILT, f"java-{variant}")
        self._producer = "kafka.tools.ConsoleProducer" if variant == "3.9" else f"{_TOOLS}.ConsoleProducer"
        self._observer: Any = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def version(self) -> str:
        """Return the version of the jar."""
        (jar,) = [
            name for name in os.listdir(self._jars) if name.startswith("kafka-tools-") and "api" not in name
        ]
        return jar.removeprefix("kafka-tools-").removesuffix(".jar")

    def tool(self, main_class: str, *arguments: str, stdin: str = "") -> str:
        """Run a tool and return its output.

        :raises AssertionError: it failed.
        """
        done = subprocess.run(
            java(self._jars, main_class, *arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * WAIT_S,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{main_class} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def at(self, main_class: str, *arguments: str, stdin: str = "") -> str:
        """The same, with ``--bootstrap-server``."""
        return self.tool(main_class, "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)

    def new_topic(self) -> str:
        """A topic of 6 partitions."""
        return new_topic(self._observer)

    def produce(self, topic: str, pairs: Sequence[Pair], *options: str) -> None:
        """``kafka-console-producer`` with keys."""
        lines = "".join(f"{key.decode()}:{value.decode()}\n" for key, value in pairs)
        keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
        self.at(self._producer, "--topic", topic, *keyed, *options, stdin=lines)

    def read(self, topic: str, count: int, *options: str) -> list[tuple[int, int, bytes, bytes]]:
        """(partition, offset, key, value) by ``kafka-console-consumer``."""
        shown = [f"--property=print.{what}=true" for what in ("key", "partition", "offset")]
        limits = ("--max-messages", str(count), "--timeout-ms", "10000", "--from-beginning")
        printed = self.at(CONSUMER, "--topic", topic, *shown, *limits, *options)
        matches = [_PLACE.match(line) for line in printed.splitlines()]
        return [(int(m[1]), int(m[2]), m[3].encode(), m[4].encode()) for m in matches if m]

    def keyed(self, found: Sequence[tuple[int, int, bytes, bytes]]) -> list[tuple[int, bytes, bytes]]:
        """Without the offsets."""
        return [(partition, key, value) for partition, _, key, value in found]

    def create_topics(self) -> None:
        """``kafka-topics --create``, ``--describe``, ``--list``."""
        topic = new_name()
        self.at(
            TOPICS,
            "--create",
            "--topic",
            topic,
            "--partitions",
            str(PARTITIONS),
            "--config",
            "retention.ms=3600000",
        )
        told = self.at(TOPICS, "--describe", "--topic", topic)
        if f"PartitionCount: {PARTITIONS}" not in told or "retention.ms=3600000" not in told:
            raise AssertionError(told)
        same(topic in self.at(TOPICS, "--list").split(), True, "listed")

    def produce_keyed(self) -> None:
        """``kafka-console-producer`` with ``parse.key``."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        check_keyed(self.keyed(self.read(topic, len(SENT))))

    def produce_compressed(self) -> str:
        """``--compression-codec``, and ``kafka-producer-perf-test``."""
        topic = self.new_topic()
        for codec in _CODECS:
            self.produce(topic, BIG, "--compression-codec", codec)
        check_keyed(self.keyed(self.read(topic, len(BIG) * len(_CODECS))), BIG * len(_CODECS))
        printed = self.tool(
            PERFORMANCE,
            *(
                "--topic",
                self.new_topic(),
                "--num-records",
                "5000",
                "--record-size",
                "200",
                "--throughput",
                "-1",
            ),
            *("--producer-props", f"bootstrap.servers={self.bootstrap}", "compression.type=lz4"),
        )
        same(printed.splitlines()[-1].startswith("5000 records sent"), True, printed)
        return ", ".join(_CODECS)

    def consume(self) -> None:
        """``kafka-console-consumer --from-beginning``; the ends by ``kafka-get-offsets``."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        found = self.read(topic, len(SENT))
        for line in self.at(OFFSETS, "--topic", topic).splitlines():
            _, partition, end = line.rsplit(":", 2)
            offsets = [offset for place, offset, _, _ in found if place == int(partition)]
            same(offsets, list(range(int(end))), "offsets")

    def commit(self) -> None:
        """``kafka-console-consumer --group``, twice."""
        topic, group = self.new_topic(), new_name("group")
        self.produce(topic, SENT)
        found = self.read(topic, 100, "--group", group)
        same(len(found), 100, "the first")
        found += self.read(topic, len(SENT) - 100, "--group", group)
        check_keyed(self.keyed(found))

    def seek_by_time(self) -> None:
        """``kafka-consumer-groups --reset-offsets --to-datetime``."""
        topic, group = self.new_topic(), new_name("group")
        self.produce(topic, SENT)
        between = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        self.produce(topic, BIG)
        reset = ("--reset-offsets", "--to-datetime", between, "--execute")
        self.at(GROUPS, "--group", group, "--topic", topic, *reset)
        check_keyed(self.keyed(self.read(topic, len(BIG), "--group", group)), BIG)

    def configs(self) -> None:
        """``kafka-configs --alter``, ``--describe`` of topics and brokers."""
        topic = self.new_topic()
        entity = ("--entity-type", "topics", "--entity-name", topic)
        self.at(CONFIGS, *entity, "--alter", "--add-config", "max.message.bytes=54321")
        told = self.at(CONFIGS, *entity, "--describe")
        same("max.message.bytes=54321" in told, True, told)
        broker = str(next(iter(self._observer.list_topics(timeout=WAIT_S).brokers)))
        told = self.at(CONFIGS, "--entity-type", "brokers", "--entity-name", broker, "--describe", "--all")
        same("log.dirs=" in told, True, told)

    def create_partitions(self) -> None:
        """``kafka-topics --alter --partitions``."""
        topic = self.new_topic()
        self.at(TOPICS, "--alter", "--topic", topic, "--partitions", "8")
        same("PartitionCount: 8" in self.at(TOPICS, "--describe", "--topic", topic), True, "8 partitions")

    def manage_groups(self) -> None:
        """``kafka-consumer-groups --list``, ``--describe``, ``--delete``."""
        topic, group = self.new_topic(), new_name("group")
        self.produce(topic, SENT)
        self.read(topic, 100, "--group", group)
        same(group in self.at(GROUPS, "--list").split(), True, "listed")
        lines = [line.split() for line in self.at(GROUPS, "--describe", "--group", group).splitlines()]
        # A partition whose start the consumer did not know yet when 100 were read is not listed.
        places = [[int(number) for number in line[3:6]] for line in lines if line[:2] == [group, topic]]
        same(sum(committed for committed, _, _ in places), 100, "committed")
        same([lag for _, _, lag in places], [end - committed for committed, end, _ in places], "lag")
        self.at(GROUPS, "--delete", "--group", group)
        same(group in self.at(GROUPS, "--list").split(), False, "listed after deleting")

    def delete_records(self) -> None:
        """``kafka-delete-records``, and ``kafka-get-offsets --time earliest``."""
        topic, path = self.new_topic(), f"/tmp/{new_name('records')}.json"
        self.produce(topic, SENT)
        with open(path, "w") as file:
            json.dump({"partitions": [{"topic": topic, "partition": 0, "offset": 5}], "version": 1}, file)
        try:
            self.at(DELETE_RECORDS, "--offset-json-file", path)
        finally:
            os.remove(path)
        told = self.at(OFFSETS, "--topic", topic, "--partitions", "0", "--time", "earliest")
        same(told.strip(), f"{topic}:0:5", "earliest")

    def delete_topics(self) -> None:
        """``kafka-topics --delete``."""
        topic = self.new_topic()
        self.at(TOPICS, "--delete", "--topic", topic)
        until("the topic is gone", lambda: topic not in self.at(TOPICS, "--list").split())

    def transactions(self) -> str:
        """``kafka-producer-perf-test --transactional-id``."""
        topic = self.new_topic()
        self.tool(
            PERFORMANCE,
            *("--topic", topic, "--num-records", "5000", "--record-size", "200", "--throughput", "-1"),
            *("--transactional-id", new_name("id"), "--transaction-duration-ms", "100"),
            *("--producer-props", f"bootstrap.servers={self.bootstrap}"),
        )
        printed = self.at(
            CONSUMER,
            *("--topic", topic, "--from-beginning", "--isolation-level", "read_committed"),
            *("--max-messages", "5000", "--timeout-ms", "10000"),
        )
        same(len(printed.splitlines()), 5000, "records")
        return "commits; no tool aborts"

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``kafka-console-consumer --group``; it commits by itself, and leaves at SIGTERM."""
        me = new_name("member")
        properties = [f"client.id={me}", "auto.commit.interval.ms=500", "heartbeat.interval.ms=300"]
        command = [*java(self._jars, CONSUMER), "--bootstrap-server", self.bootstrap, "--topic", topic]
        command += ["--group", group, "--from-beginning"]
        command += [f"--property=print.{what}=true" for what in ("key", "partition", "offset")]
        for value in [*properties, f"session.timeout.ms={session_ms}"]:
            command += ["--consumer-property", value]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            threading.Thread(target=self.observe, args=(told, group, me, process), daemon=True).start()
            assert process.stdout is not None
            for line in process.stdout:
                found = _PLACE.match(line)
                if found:
                    told.read([(int(found[1]), int(found[2]))])

    def observe(self, told: Told, group: str, me: str, process: subprocess.Popen[str]) -> None:
        """Tell what a console consumer owns, until it shall leave."""
        owned: set[int] = set()
        while not told.leave.wait(0.2):
            try:
                described = self._observer.describe_consumer_groups([group])[group].result(WAIT_S)
            except Exception:
                continue  # the group is not there yet
            mine = [member for member in described.members if member.client_id == me]
            now = {place.partition for member in mine for place in member.assignment.topic_partitions}
            if now != owned:
                told.revoked(owned - now)
                told.assigned(now)
                owned = now
        process.terminate()


if __name__ == "__main__":
    main(Tools)
