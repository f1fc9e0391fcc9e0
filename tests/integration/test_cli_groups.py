"""The commands ``kafkatx groups``, ``configs`` and ``topics alter`` against a real broker."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Writer
from kafkatx.cli.main import main
from tests.cli.command_case import Terminal
from tests.integration.clients import DEADLINE_S, new_topic
from tests.integration.shared import shared_broker
from tests.integration.test_cli import loaded_heavy
from tests.measured import check_below

BROKER_ID = "0"
AT_ONCE_S = 5.0
"""What is tried again and again takes longer."""


class BrokerCase(SynchronousTestCase):
    """Runs commands in this process."""

    def setUp(self) -> None:
        """A topic with two partitions, 10 messages in the first and 4 in the second; a group's name."""
        self.bootstrap = shared_broker().bootstrap
        self.topic, self.group = new_topic(), new_topic()
        self.run_command("topics", "create", self.topic, "-p", "2")
        self.produce(0, 10)
        self.produce(1, 4)

    def produce(self, partition: int, count: int = 1) -> None:
        """Send messages."""
        with Cluster(self.bootstrap) as cluster, Writer(cluster, self.topic) as writer:
            writer.send_values([b"x"] * count, partition)

    def run_command(self, *arguments: str, code: int = 0) -> str:
        """Run a command and return its output; it must end with *code*."""
        out, err = Terminal(), Terminal()
        self.patch(sys, "stdout", out)
        self.patch(sys, "stderr", err)
        given = [] if "-b" in arguments else ["-b", self.bootstrap]
        status = main([*arguments, *given])
        self.errors = err.text()
        self.assertEqual(status, code, self.errors)
        return out.text()

    def rows(self, *arguments: str) -> list[list[str]]:
        """The lines that a command prints, taken apart at the tabs."""
        return [line.split("\t") for line in self.run_command(*arguments).splitlines()]

    def reset(self, *arguments: str) -> list[list[str]]:
        """The plan of a reset: partition, old offset, new offset, lag."""
        rows = self.rows("groups", "reset", self.group, *arguments)
        self.assertEqual({row[0] for row in rows}, {self.topic})
        return [row[1:] for row in rows]

    def progress(self) -> list[list[str]]:
        """Return the group's rows: partition, committed offset, end, lag, member id, host, client id."""
        rows = self.rows("groups", "describe", self.group)
        self.assertEqual({(row[0], row[1]) for row in rows}, {(self.group, self.topic)})
        return [row[2:] for row in rows]


class OffsetsTests(BrokerCase):
    def test_reset(self) -> None:
        """A new group is given offsets; a consumer goes on from them, and what it commits is shown."""
        self.assertEqual(
            self.reset("--to-offset", "3", "-t", self.topic, "--execute"),
            [["0", "-", "3", "7"], ["1", "-", "3", "1"]],
        )
        none = ["-", "-", "-"]
        self.assertEqual(self.progress(), [["0", "3", "10", "7", *none], ["1", "3", "4", "1", *none]])
        self.assertEqual(self.consumed(8), {(0, offset) for offset in range(3, 10)} | {(1, 3)})
        self.assertEqual(self.progress(), [["0", "10", "10", "0", *none], ["1", "4", "4", "0", *none]])
        self.assertEqual(self.reset("--shift-by", "-6"), [["0", "10", "4", "6"], ["1", "4", "0", "4"]])
        self.assertIn(f"{self.topic} [1] has no offset -2: 0 is the nearest", self.errors)
        self.assertIn("nothing was changed", self.errors)
        self.assertEqual([row[3] for row in self.progress()], ["0", "0"])
        self.assertEqual(self.reset("--to-earliest", "-t", self.topic, "-p", "1"), [["1", "4", "0", "4"]])

    def consumed(self, count: int) -> set[tuple[int, int]]:
        """Partition and offset of the messages that a consumer of the group gets; it commits them."""
        from confluent_kafka import Consumer

        settings = {"bootstrap.servers": shared_broker().bootstrap, "group.id": self.group}
        consumer = Consumer(settings | {"enable.auto.commit": False, "auto.offset.reset": "error"})
        consumer.subscribe([self.topic])
        found: list[Any] = []
        end = time.monotonic() + DEADLINE_S
        while len(found) < count and time.monotonic() < end:
            found += consumer.consume(count - len(found), timeout=0.2)
        self.assertEqual([message.error() for message in found], [None] * count)
        consumer.commit(asynchronous=False)
        consumer.close()
        return {(message.partition(), message.offset()) for message in found}

    def test_datetime(self) -> None:
        """A time between two messages is where the second is; a time to come is the end."""
        between = int(time.time() * 1000) + 1
        while time.time() * 1000 <= between:
            pass
        self.produce(0)
        text = datetime.fromtimestamp(between / 1000, timezone.utc).isoformat(timespec="milliseconds")
        self.assertEqual(
            self.reset("--to-datetime", text, "-t", self.topic), [["0", "-", "10", "1"], ["1", "-", "4", "0"]]
        )
        self.assertEqual(self.reset("--by-duration", "PT1H", "-t", self.topic)[0], ["0", "-", "0", "11"])
        self.assertEqual(
            self.reset("--to-datetime", "2999-01-01", "-t", self.topic)[0], ["0", "-", "11", "0"]
        )

    def test_delete(self) -> None:
        """First the offsets of a partition, then the group go."""
        self.reset("--to-latest", "-t", self.topic, "--execute")
        self.run_command("groups", "delete", self.group, "-t", f"{self.topic}:0", "-y")
        self.assertEqual([row[0] for row in self.progress()], ["1"])
        self.run_command("groups", "delete", self.group, "-y")
        self.assertNotIn(self.group, [row[0] for row in self.rows("groups", "list")])
        self.run_command("groups", "describe", self.group, code=1)
        self.assertIn(f"there is no group '{self.group}'", self.errors)


class MembersTests(BrokerCase):
    def check(self, protocol: str, **settings: Any) -> None:
        """A group at work is shown, and protected; when its member has gone it can be deleted."""
        leave = self.join({"group.protocol": protocol, "client.id": "worker", **settings})
        self.assertIn(
            [self.group, "Stable", protocol, "consumer"], self.rows("groups", "list", "-s", "stable")
        )
        found = json.loads(self.run_command("groups", "describe", self.group, "--json"))
        (member,) = found["members"]
        self.assertEqual((found["state"], found["type"]), ("Stable", protocol))
        self.assertEqual((member["client_id"], member["partitions"]), ("worker", {self.topic: [0, 1]}))
        who = [member["member_id"], "/127.0.0.1", "worker"]
        self.assertEqual([row[4:] for row in self.progress()], [who, who])
        (row,) = self.rows("groups", "describe", self.group, "--members")
        self.assertEqual(row[1:], [who[0], "-", "worker", "/127.0.0.1", "2", f"{self.topic}:0-1"])
        for arguments in (["reset", self.group, "--to-latest", "--execute"], ["delete", self.group, "-y"]):
            self.run_command("groups", *arguments, code=1)
            self.assertIn(f"group '{self.group}' has members: stop its consumers", self.errors)
        leave()
        self.assertEqual(self.rows("groups", "describe", self.group, "--members"), [])
        self.run_command("groups", "delete", self.group, "-y")
        self.run_command("groups", "delete", self.group, "-y", code=1)

    def join(self, settings: dict[str, Any]) -> Callable[[], None]:
        """A consumer that has its partitions; a function that makes it leave."""
        from confluent_kafka import Consumer

        consumer = Consumer(
            {"bootstrap.servers": shared_broker().bootstrap, "group.id": self.group, **settings}
        )
        self.addCleanup(consumer.close)
        consumer.subscribe([self.topic])
        end = time.monotonic() + DEADLINE_S
        while not consumer.assignment():
            consumer.poll(0.1)
            self.assertLess(time.monotonic(), end)
        return consumer.close  # type: ignore[no-any-return]  # the library has no types

    def test_classic(self) -> None:
        """A group whose members assign partitions themselves."""
        self.check("classic")

    def test_consumer(self) -> None:
        """A group of KIP-848."""
        self.check("consumer")


MIN_ISR = ["min.insync.replicas", "1", "broker defaults"]
"""The setting that is always set for all brokers."""


class ConfigsTests(BrokerCase):
    def test_topic(self) -> None:
        """Settings are made, shown with where they come from, judged, and undone; partitions are added."""
        self.run_command("configs", "alter", "-t", self.topic, "--set", "retention.ms=777")
        described = self.rows("configs", "describe", "-t", self.topic)
        self.assertEqual(described, [MIN_ISR, ["retention.ms", "777", "topic"]])
        self.run_command("configs", "alter", "-t", self.topic, "--set", "retention.ms=888", "--dry-run")
        self.run_command(
            "topics", "alter", self.topic, "-p", "5", "-c", "segment.ms=999", "-d", "retention.ms"
        )
        described = self.rows("configs", "describe", "-t", self.topic)
        self.assertEqual(described, [MIN_ISR, ["segment.ms", "999", "topic"]])
        self.produce(4)
        self.assertEqual(self.run_command("consume", self.topic, "-p", "4", "-e"), "x\n")

    def test_brokers(self) -> None:
        """A broker's own value goes before the one for all brokers."""
        name = "log.cleaner.backoff.ms"
        for whose, value in ((["--broker-defaults"], "15001"), (["--broker", BROKER_ID], "15002")):
            self.addCleanup(self.run_command, "configs", "alter", *whose, "--delete", name)
            self.run_command("configs", "alter", *whose, "--set", f"{name}={value}")
        mine = ["configs", "describe", "--broker", BROKER_ID, name]
        self.assertEqual(self.rows(*mine), [[name, "15002", "broker"]])
        described = self.rows("configs", "describe", "--broker-defaults")
        self.assertEqual(described, [[name, "15001", "broker defaults"], MIN_ISR])
        self.run_command("configs", "alter", "--broker", BROKER_ID, "--delete", name)
        self.assertEqual(self.rows(*mine), [[name, "15001", "broker defaults"]])

    def test_quotas(self) -> None:
        """Quotas of a client id are made, shown and removed."""
        whose = ["--client-id", self.group]
        self.run_command("configs", "alter", *whose, "--set", "producer_byte_rate=1e9")
        row = ["producer_byte_rate", "1000000000", f"client-id '{self.group}'"]
        self.assertEqual(self.rows("configs", "describe", *whose), [row])
        self.assertIn(row, self.rows("configs", "describe", "--quotas"))
        self.run_command("configs", "alter", *whose, "--delete", "producer_byte_rate")
        self.assertEqual(self.rows("configs", "describe", *whose), [])


class ManyCommandsTests(BrokerCase):
    def test_one_line(self) -> None:
        """Each is told in one line that names what is wrong, with exit code 1, and at once."""
        topic, group = self.topic, self.group
        for arguments, reason in (
            (["groups", "list", "-b", "127.0.0.1:1"], "no broker answers at 127.0.0.1:1"),
            (["groups", "describe", "no-such-group"], "'no-such-group': see `kafkatx groups list`"),
            (["groups", "delete", "no-such-group", "-y"], "there is no group 'no-such-group'"),
            (["groups", "reset", group, "--to-latest"], f"there is no group '{group}'"),
            (["groups", "reset", group, "--to-latest", "-t", "no-such"], "there is no topic 'no-such'"),
            (
                ["groups", "reset", group, "--to-latest", "-t", f"{topic}:7"],
                "has no partition 7: it has 0 to 1",
            ),
            (["groups", "reset", group, "--shift-by", "1", "-t", topic], "no committed offset to be shifted"),
            (["configs", "describe", "-t", "no-such"], "there is no topic 'no-such'"),
            (["configs", "alter", "-t", "no-such", "-s", "retention.ms=1"], "there is no topic 'no-such'"),
            (["configs", "alter", "-t", topic, "-s", "retention.ms=soon"], "retention.ms"),
            (["configs", "alter", "-t", topic, "-s", "no.such=1"], "no.such"),
            (["configs", "alter", "--broker", BROKER_ID, "-s", "log.dirs=/x"], "log.dirs"),
            (["configs", "describe", "--broker", "77"], "broker 77"),
            (["configs", "alter", "--client-id", "c", "-s", "no_such_rate=1"], "no_such_rate"),
            (["topics", "alter", topic, "-p", "1"], topic),
        ):
            began = time.perf_counter()
            self.run_command(*arguments, code=1)
            self.assertIn(reason, self.errors)
            self.assertEqual(len(self.errors.splitlines()), 1, self.errors)
            check_below(self, time.perf_counter() - began, AT_ONCE_S, f"seconds of {arguments}")

    def test_light(self) -> None:
        """No command loads what takes its time to load; none pauses, as the unit tests show."""
        self.run_command("groups", "reset", self.group, "--to-latest", "-t", self.topic, "--execute")
        for arguments in (
            ["groups", "list"],
            ["groups", "describe", self.group],
            ["groups", "reset", self.group, "--to-earliest", "--execute"],
            ["configs", "describe", "-t", self.topic],
            ["configs", "alter", "-t", self.topic, "-s", "retention.ms=5"],
            ["topics", "alter", self.topic, "-c", "retention.ms=6"],
        ):
            self.assertEqual(loaded_heavy(*arguments), set(), arguments)
