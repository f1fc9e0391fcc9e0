"""Tests of kafkatx.cli.cluster.configs."""

from __future__ import annotations

import json
from typing import Any

from kafkatx.cli.cluster import configs, topics
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from tests.blocking.fake_settings import BROKER, TOPIC, FakeSettings
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase


class ConfigsCase(CommandCase):
    """Runs commands against a cluster with a topic and some settings and quotas."""

    def setUp(self) -> None:
        """Two brokers."""
        super().setUp()
        self.cluster = FakeSettings(
            {"t": [Log()]},
            brokers=2,
            settings={(TOPIC, "t"): {"retention.ms": "5"}, (BROKER, "2"): {"log.retention.ms": "6"}},
            quotas={
                frozenset({("client-id", "c")}): {"producer_byte_rate": 1048576.0},
                frozenset({("client-id", None)}): {"producer_byte_rate": 0.5, "consumer_byte_rate": 1e10},
            },
        )
        for module in (configs, topics):
            self.patch(module, "connect", lambda bootstrap, timeout: self.cluster.client())

    def printed(self, *arguments: str, tty: bool = False, code: int = 0) -> str:
        """Return the output of a command, which must end with *code*."""
        self.use_streams(tty)
        self.assertEqual(self.run_command(*arguments), code, self.err.text())
        return self.out.text()


class DescribeTests(ConfigsCase):
    def shown(self, *arguments: str, **how: Any) -> str:
        """Return the output of ``kafkatx configs describe``."""
        return self.printed("configs", "describe", *arguments, **how)

    def test_topic(self) -> None:
        """Name, value and whose it is; defaults only with --all; a secret's value is not known."""
        own = "future\t1\tunknown\nretention.ms\t5\ttopic\nsecret\t(hidden)\tstatic\n"
        self.assertEqual(self.shown("--topic", "t"), own)
        self.assertEqual(self.shown("-t", "t", "--all"), "cleanup.policy\tdelete\tdefault\n" + own)

    def test_broker(self) -> None:
        """One broker by its id, and the defaults of all."""
        self.assertIn("log.retention.ms\t6\tbroker\n", self.shown("--broker", "2"))
        self.assertNotIn("log.retention.ms", self.shown("--broker-defaults"))
        asked = [request.resources[0].resource_name for request in self.cluster.sent(DescribeConfigsRequest)]
        self.assertEqual(asked, ["2", ""])

    def test_names(self) -> None:
        """Only the settings that are named, also if they have their defaults; a mistyped one is told."""
        self.assertEqual(self.shown("-t", "t", "cleanup.policy"), "cleanup.policy\tdelete\tdefault\n")
        self.shown("-t", "t", "retentoin.ms", code=2)
        self.assertIn("topic 't' has no setting 'retentoin.ms'; is retention.ms meant?", self.err.text())
        self.shown("-t", "t", "zzz", code=2)
        self.assertIn("no setting 'zzz'\n", self.err.text())
        self.shown("--broker-defaults", "not.set")

    def test_json(self) -> None:
        """An object a setting, with its synonyms."""
        self.assertEqual(
            json.loads(self.shown("-t", "t", "cleanup.policy", "--json")),
            {
                "name": "cleanup.policy",
                "value": "delete",
                "source": "default",
                "type": "list",
                "read_only": False,
                "sensitive": False,
                "synonyms": [{"name": "log.cleanup.policy", "value": "delete", "source": "default"}],
            },
        )

    def test_quotas(self) -> None:
        """Those of one client id, of the others, or all; numbers as people write them."""
        mine = "producer_byte_rate\t1048576\tclient-id 'c'\n"
        others = "consumer_byte_rate\t10000000000\tany client-id\nproducer_byte_rate\t0.5\tany client-id\n"
        self.assertEqual(self.shown("--client-id", "c"), mine)
        self.assertEqual(self.shown("--client-id-defaults"), others)
        self.assertEqual(self.shown("--quotas"), others + mine)
        self.assertEqual(self.shown("--quotas", "consumer_byte_rate"), others.splitlines(keepends=True)[0])
        self.assertEqual(self.shown("--user", "u", "--client-id", "c"), "")
        found = json.loads(self.shown("--client-id", "c", "--json"))
        self.assertEqual(
            found, {"name": "producer_byte_rate", "value": 1048576.0, "entity": {"client-id": "c"}}
        )

    def test_terminal(self) -> None:
        """Tables; where there is nothing, that is said."""
        self.assertIn("set for", self.shown("-t", "t", tty=True))
        self.assertIn("set for", self.shown("--quotas", tty=True))
        self.assertEqual(self.shown("--user", "u", tty=True), "there are no quotas\n")
        self.assertIn("nothing is set", self.shown("--broker-defaults", tty=True))

    def test_usage(self) -> None:
        """One topic, broker or kind of clients, no more and no fewer."""
        for arguments, reason in (
            ([], "give one of --topic"),
            (["-t", "t", "--broker", "0"], "give one of --topic"),
            (["--broker", "0", "--broker-defaults"], "give one of --topic"),
            (["-t", "t", "--ip", "::1"], "give one of --topic"),
            (["-t", "t", "--quotas"], "give one of --topic"),
            (["--user", "u", "--user-defaults"], "--user and --user-defaults exclude each other"),
            (["--broker", "x"], "x"),
        ):
            self.shown(*arguments, code=2)
            self.assertIn(reason, self.err.text())

    def test_unknown_topic(self) -> None:
        """One line tells."""
        self.shown("-t", "nope", code=1)
        self.assertEqual(self.err.text(), "kafkatx: there is no topic 'nope'\n")


class AlterTests(ConfigsCase):
    def alter(self, *arguments: str, code: int = 0) -> str:
        """Return the messages of ``kafkatx configs alter``."""
        self.assertEqual(self.printed("configs", "alter", *arguments, code=code), "")
        return self.err.text()

    def test_topic(self) -> None:
        """Settings are made and deleted, and a message says so."""
        told = self.alter("-t", "t", "--set", "segment.ms=9", "-s", "a=b=c", "--delete", "retention.ms")
        self.assertEqual(told, "topic 't': set segment.ms=9, set a=b=c, deleted retention.ms\n")
        self.assertEqual(self.cluster.settings[TOPIC, "t"], {"segment.ms": "9", "a": "b=c"})

    def test_brokers(self) -> None:
        """One broker, or the defaults of all."""
        told = self.alter("--broker", "2", "-d", "log.retention.ms")
        self.assertEqual(told, "broker 2: deleted log.retention.ms\n")
        told = self.alter("--broker-defaults", "-s", "a=1")
        self.assertEqual(told, "the defaults of all brokers: set a=1\n")
        self.assertEqual(
            (self.cluster.settings[BROKER, "2"], self.cluster.settings[BROKER, ""]), ({}, {"a": "1"})
        )

    def test_quotas(self) -> None:
        """Numbers, for names and defaults of several types at once."""
        told = self.alter("--client-id", "c", "--user-defaults", "-s", "consumer_byte_rate=1e3")
        self.assertEqual(told, "client-id 'c' of any user: set consumer_byte_rate=1e3\n")
        entity = frozenset({("client-id", "c"), ("user", None)})
        self.assertEqual(self.cluster.quotas[entity], {"consumer_byte_rate": 1000.0})
        self.alter("--client-id", "c", "-d", "producer_byte_rate")
        self.assertEqual(self.cluster.quotas[frozenset({("client-id", "c")})], {})

    def test_dry_run(self) -> None:
        """The broker judges, and nothing is changed."""
        told = self.alter("-t", "t", "-s", "retention.ms=9", "--dry-run")
        self.assertEqual(told, "topic 't': could have set retention.ms=9; nothing was changed\n")
        self.alter("--client-id", "c", "-d", "producer_byte_rate", "--dry-run")
        self.assertEqual(self.cluster.settings[TOPIC, "t"], {"retention.ms": "5"})
        self.assertEqual(len(self.cluster.quotas[frozenset({("client-id", "c")})]), 1)
        told = self.alter("--broker", "2", "-s", "log.dirs=x", "--dry-run", code=1)
        self.assertIn("log.dirs cannot be changed", told)

    def test_usage(self) -> None:
        """Options that contradict each other are refused before a broker is asked."""
        for arguments, reason in (
            (["-t", "t"], "there is nothing to change"),
            (["-t", "t", "-s", "a=1", "-d", "a"], "a cannot be set and deleted at once"),
            (["-t", "t", "-s", "a"], "give NAME=VALUE"),
            (["-s", "a=1"], "give one of --topic"),
            (["--client-id", "c", "-s", "producer_byte_rate=fast"], "a quota is a number"),
        ):
            self.assertIn(reason, self.alter(*arguments, code=2))
        self.assertEqual(self.cluster.requests, [])


class AlterTopicTests(ConfigsCase):
    def alter(self, *arguments: str, code: int = 0) -> str:
        """Return the messages of ``kafkatx topics alter``."""
        self.assertEqual(self.printed("topics", "alter", *arguments, code=code), "")
        return self.err.text()

    def test_both(self) -> None:
        """Settings and partitions at once."""
        told = self.alter("t", "-p", "3", "-c", "a=1", "--delete-config", "retention.ms")
        self.assertEqual(told, "topic t: set a=1, deleted retention.ms\ntopic t: has 3 partitions now\n")
        self.assertEqual(self.cluster.settings[TOPIC, "t"], {"a": "1"})
        self.assertEqual(len(self.cluster.topics["t"]), 3)

    def test_refused(self) -> None:
        """Fewer partitions are the broker's error; a topic that is not there is named."""
        self.assertEqual(self.alter("t", "-p", "1", code=1), "kafkatx: topic 't': t has 1\n")
        for arguments in (["-p", "2"], ["-c", "a=1"]):
            self.assertEqual(self.alter("nope", *arguments, code=1), "kafkatx: there is no topic 'nope'\n")

    def test_usage(self) -> None:
        """Something is to be changed, and not twice."""
        self.assertIn("there is nothing to change", self.alter("t", code=2))
        self.assertIn("at once", self.alter("t", "-c", "a=1", "-d", "a", code=2))
