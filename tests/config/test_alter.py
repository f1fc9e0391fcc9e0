"""Changes of configs: what comes of them, and what is not allowed."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.alter import (
    Alteration,
    Operation,
    altered,
    check_broker_configs,
    usable_broker_configs,
)
from kafkatx.config.table import broker, topic
from kafkatx.errors import ErrorCode, RequestError

SET, DELETE, APPEND, SUBTRACT = Operation


def alter(old: dict[str, str], *alterations: tuple[str, Operation, str | None]) -> dict[str, str]:
    """Return the result of alterations of a topic's configs, with the defaults in effect."""
    given = [Alteration(*one) for one in alterations]
    return altered(old, given, topic.ALL_SETTINGS.get, lambda setting: setting.default)


class AlteredTests(SynchronousTestCase):
    def refused(self, *alteration: Any) -> RequestError:
        """The error of an alteration that cannot be made."""
        with self.assertRaises(RequestError) as caught:
            alter({"retention.ms": "5"}, alteration)
        error: RequestError = caught.exception
        return error

    def test_set_and_delete(self) -> None:
        """Named configs are set or deleted, others stay; a missing one may be deleted, too."""
        old = {"retention.ms": "5", "segment.ms": "6", "flush.ms": "7"}
        new = alter(
            old, ("retention.ms", SET, "8"), ("segment.ms", DELETE, None), ("segment.bytes", DELETE, "x")
        )
        self.assertEqual(new, {"retention.ms": "8", "flush.ms": "7"})
        self.assertEqual(old, {"retention.ms": "5", "segment.ms": "6", "flush.ms": "7"})

    def test_lists(self) -> None:
        """Items are appended once, in order, and taken away; white space does not count."""
        name = "leader.replication.throttled.replicas"
        self.assertEqual(alter({name: "a, b"}, (name, APPEND, "b ,c,c"))[name], "a,b,c")
        self.assertEqual(alter({name: "a, b,c"}, (name, SUBTRACT, "c, x,a"))[name], "b")
        self.assertEqual(alter({name: "a"}, (name, SUBTRACT, "a"))[name], "")
        self.assertEqual(alter({}, (name, APPEND, "a,b"))[name], "a,b")

    def test_list_that_is_not_set(self) -> None:
        """It begins with the value that is in effect."""
        self.assertEqual(
            alter({}, ("cleanup.policy", APPEND, "compact")), {"cleanup.policy": "delete,compact"}
        )
        self.assertEqual(alter({}, ("cleanup.policy", SUBTRACT, "delete")), {"cleanup.policy": ""})

    def test_no_list(self) -> None:
        """Nothing is appended to a number."""
        for operation in (APPEND, SUBTRACT):
            error = self.refused("retention.ms", operation, "1")
            self.assertEqual(error.code, ErrorCode.INVALID_CONFIG)
            self.assertIn(f"{operation.name} to config retention.ms: its type is LONG", str(error))

    def test_no_value(self) -> None:
        """All but DELETE need a value."""
        for operation in (SET, APPEND, SUBTRACT):
            self.assertEqual(self.refused("cleanup.policy", operation, None).code, ErrorCode.INVALID_REQUEST)

    def test_unknown(self) -> None:
        """An unknown config is left to those who judge values, whatever is done to it."""
        self.assertEqual(alter({}, ("x", APPEND, "1"), ("y", SET, "2")), {"x": "1", "y": "2"})


class BrokerConfigsTests(SynchronousTestCase):
    def refused(self, **configs: str) -> str:
        """Return the message for rejected settings; names have _ for dots."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        error = self.assertRaises(RequestError, check_broker_configs, named)
        self.assertEqual(error.code, ErrorCode.INVALID_REQUEST)
        return str(error)

    def test_dynamic(self) -> None:
        """Every dynamic setting may have the value that it has by default."""
        for setting in broker.SETTINGS.values():
            if setting.dynamic:
                value = "1" if setting.default is None else str(setting.default)
                if isinstance(setting.default, tuple):
                    value = ",".join(setting.default)
                check_broker_configs({setting.name: value})

    def test_fixed(self) -> None:
        """Those that need a restart are named, as Apache Kafka names them; so are their other names."""
        why = self.refused(log_retention_ms="1", log_dirs="/x", num_partitions="x", node_id="3")
        self.assertEqual(
            why, "Cannot update these configs dynamically: Set(log.dirs, num.partitions, node.id)"
        )

    def test_value(self) -> None:
        """The message names the setting, its value, and what is allowed."""
        self.assertEqual(
            self.refused(log_retention_ms="soon"),
            "log.retention.ms=soon: the value must be a whole number of 64 bits, -1 or more",
        )

    def test_unknown(self) -> None:
        """The nearest name is suggested; what only Apache Kafka has is called so."""
        self.assertIn("did you mean log.retention.ms?", self.refused(log_retention_mss="1"))
        self.assertIn("only Apache Kafka has this setting", self.refused(num_io_threads="8"))

    def test_usable(self) -> None:
        """Stored settings that this version can use are returned, and an error for each of the others."""
        stored = {"log.roll.ms": "5", "of.the.future": "1", "log.retention.ms": "soon", "broker.id": "3"}
        usable, complaints = usable_broker_configs(stored)
        self.assertEqual(usable, {"log.roll.ms": "5"})
        self.assertEqual(
            [complaint.split(":")[0] for complaint in complaints],
            ["of.the.future", "log.retention.ms=soon", "broker.id=3"],
        )
