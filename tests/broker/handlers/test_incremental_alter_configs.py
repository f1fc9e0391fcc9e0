"""IncrementalAlterConfigs: single configs of a topic or broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.interfaces import ConfigChange
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
)
from tests.broker.running import BrokerTestCase, Held, codes

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
VERSIONS = range(2)


def resource(
    *alterations: tuple[str, int, str | None], kind: int = TOPIC, name: str = "t"
) -> AlterConfigsResource:
    """Return a resource with its changes: names, operations, values."""
    return AlterConfigsResource(kind, name, [AlterableConfig(*one) for one in alterations])


class IncrementalAlterConfigsTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"log.cleanup.policy": "compact"}

    def setUp(self) -> None:
        """Make a topic with configs of its own."""
        super().setUp()
        (self.partition,) = self.make_topic(retention_ms="1", segment_bytes="1000")

    def alter(
        self, *resources: AlterConfigsResource, version: int = 1, validate_only: bool = False
    ) -> list[AlterConfigsResourceResponse]:
        """Return the results for these resources."""
        request = IncrementalAlterConfigsRequest(list(resources), validate_only)
        results: list[AlterConfigsResourceResponse] = self.ask(44, version, request).responses
        self.assertEqual(
            [(r.resource_type, r.resource_name) for r in results],
            [(r.resource_type, r.resource_name) for r in resources],
        )
        return results

    def altered(self, *alterations: tuple[str, int, str | None]) -> Mapping[str, str]:
        """Return the topic's configs after alterations that are allowed."""
        (result,) = self.alter(resource(*alterations))
        self.assertEqual((result.error_code, result.error_message), (0, None))
        configs: Mapping[str, str] = self.broker.metadata.state.topics["t"].configs
        return configs

    def check_refused(self, asked: AlterConfigsResource, code: ErrorCode) -> str:
        """Assert that the resource is refused and not altered; return the message."""
        before = self.broker.metadata.state
        for validate_only in (True, False):
            (result,) = self.alter(asked, validate_only=validate_only)
            self.assertEqual(ErrorCode.of(result.error_code), code)
        self.assertIs(self.broker.metadata.state, before)
        return result.error_message or ""

    def test_every_version(self) -> None:
        """Only the named config changes, and the log uses it at once, in every version."""
        for version in VERSIONS:
            asked = resource(("retention.ms", SET, str(version)))
            self.assertEqual(codes(self.alter(asked, version=version)), [0])
            config = self.partition.log.config
            self.assertEqual((config.retention_ms, config.segment_bytes), (version, 1000))

    def test_delete(self) -> None:
        """A deleted config returns to its default; deleting one that is not set is allowed."""
        self.assertEqual(
            self.altered(("retention.ms", DELETE, None), ("flush.ms", DELETE, "5")), {"segment.bytes": "1000"}
        )
        self.assertEqual(self.partition.log.config.retention_ms, 7 * 24 * 3600 * 1000)

    def test_append_and_subtract(self) -> None:
        """An APPEND or SUBTRACT to a list that the topic does not set starts from the broker's value."""
        self.assertTrue(self.partition.log.config.compacted)
        self.assertEqual(
            self.altered(("cleanup.policy", APPEND, "delete"))["cleanup.policy"], "compact,delete"
        )
        self.assertEqual(self.partition.log.config.cleanup_policy, {"compact", "delete"})
        self.assertEqual(self.altered(("cleanup.policy", SUBTRACT, "compact"))["cleanup.policy"], "delete")
        self.assertFalse(self.partition.log.config.compacted)

    def test_subtract_the_last(self) -> None:
        """A cleanup.policy may become empty (KIP-1161), which disables retention."""
        self.assertEqual(self.altered(("cleanup.policy", SUBTRACT, "compact"))["cleanup.policy"], "")
        self.assertEqual(self.partition.log.config.cleanup_policy, frozenset())
        self.assertEqual(self.altered(("cleanup.policy", APPEND, "delete"))["cleanup.policy"], "delete")

    def test_result_must_be_allowed(self) -> None:
        """The result of an APPEND or SUBTRACT is validated, not only its operand."""
        code = ErrorCode.INVALID_CONFIG
        self.check_refused(resource(("cleanup.policy", SET, "delete,")), code)
        why = self.check_refused(resource(("cleanup.policy", APPEND, "shred")), code)
        self.assertEqual(
            why, "cleanup.policy=compact,shred: the value must be any of delete, compact, or empty"
        )

    def test_no_list(self) -> None:
        """An APPEND to a number is refused."""
        self.check_refused(resource(("retention.ms", APPEND, "1")), ErrorCode.INVALID_CONFIG)

    def test_contradiction(self) -> None:
        """A config that contradicts an existing one is refused."""
        self.altered(("max.compaction.lag.ms", SET, "5"))
        asked = resource(("min.compaction.lag.ms", SET, "6"))
        self.assertIn("max.compaction.lag.ms=5", self.check_refused(asked, ErrorCode.INVALID_CONFIG))

    def test_request_refused(self) -> None:
        """Duplicate configs, missing values and unknown operations are INVALID_REQUEST."""
        for alterations in (
            [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)],
            [("retention.ms", SET, None)],
            [("retention.ms", 4, "5")],
            [("retention.ms", -1, "5")],
        ):
            self.check_refused(resource(*alterations), ErrorCode.INVALID_REQUEST)

    def test_unknown(self) -> None:
        """Unknown topics, configs, brokers and resource types are refused."""
        one = ("retention.ms", SET, "5")
        self.check_refused(resource(one, name="u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.check_refused(resource(("retention", SET, "5")), ErrorCode.INVALID_CONFIG)
        self.check_refused(resource(one, kind=BROKER, name="1"), ErrorCode.INVALID_REQUEST)
        why = self.check_refused(
            resource(("root", SET, "DEBUG"), kind=8, name="0"), ErrorCode.INVALID_REQUEST
        )
        self.assertIn("loggers", why)

    def test_resource_twice(self) -> None:
        """A resource that occurs twice is not altered; the others are."""
        resources = [
            resource(("retention.ms", SET, "5")),
            resource(("log.roll.ms", SET, "6"), kind=BROKER, name="0"),
            resource(("segment.ms", SET, "7")),
        ]
        results = self.ask(44, 1, IncrementalAlterConfigsRequest(resources)).responses
        self.assertEqual(codes(results), [ErrorCode.INVALID_REQUEST, 0])
        self.assertEqual(
            (self.partition.log.config.retention_ms, self.broker.config.get("log.roll.ms")), (1, 6)
        )

    def test_broker(self) -> None:
        """Settings of this broker precede those of all brokers, and the logs use them at once."""
        for name, operation, value, holds in (
            ("", SET, "5", 5),
            ("0", SET, "6", 6),
            ("", SET, "7", 6),
            ("0", DELETE, None, 7),
            ("", DELETE, None, 7 * 24 * 3600 * 1000),
        ):
            asked = resource(("log.roll.ms", operation, value), kind=BROKER, name=name)
            self.assertEqual(codes(self.alter(asked)), [0])
            self.assertEqual(self.partition.log.config.segment_ms, holds)

    def test_broker_list(self) -> None:
        """A broker's list starts from its effective value; the list of all brokers ignores this broker's."""
        policy = "log.cleanup.policy"
        for name in ("0", ""):
            self.assertEqual(
                codes(self.alter(resource((policy, APPEND, "delete"), kind=BROKER, name=name))), [0]
            )
            if name:
                self.alter(resource((policy, SUBTRACT, "compact"), kind=BROKER, name=name))
        self.assertEqual(
            self.broker.metadata.state.broker_configs,
            {"0": {policy: "delete"}, "": {policy: "compact,delete"}},
        )

    def test_broker_refused(self) -> None:
        """Invalid changes of broker settings are refused."""
        why = self.check_refused(
            resource(("num.partitions", SET, "5"), kind=BROKER, name=""), ErrorCode.INVALID_REQUEST
        )
        self.assertEqual(why, "Cannot update these configs dynamically: Set(num.partitions)")
        asked = resource(("log.roll.ms", APPEND, "5"), kind=BROKER, name="0")
        self.check_refused(asked, ErrorCode.INVALID_CONFIG)

    def test_stored_by_another_version(self) -> None:
        """An unknown stored config neither blocks changes nor is removed."""
        self.successResultOf(
            self.broker.metadata.alter_topic_configs("t", lambda old: {**old, "of.the.future": "1"})
        )
        self.assertEqual(self.altered(("retention.ms", SET, "5"))["of.the.future"], "1")

    def test_two_at_once(self) -> None:
        """Two clients that change different configs at the same time both succeed."""
        held = Held()
        held.holding = False
        self.broker = self.make_broker(held)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        self.make_topic()
        held.holding = True
        answers = [
            self.answer(44, 1, IncrementalAlterConfigsRequest([resource(one)], False))
            for one in (
                ("retention.ms", SET, "5"),
                ("cleanup.policy", APPEND, "delete"),
                ("segment.ms", SET, "6"),
            )
        ]
        held.work()
        for answer in answers:
            self.assertEqual(codes(self.response(44, 1, self.successResultOf(answer)).responses), [0])
        self.assertEqual(
            self.broker.metadata.state.topics["t"].configs,
            {"retention.ms": "5", "segment.ms": "6", "cleanup.policy": "compact,delete"},
        )

    def test_two_lists_at_once(self) -> None:
        """A SUBTRACT is validated against the value that a concurrent change has left."""
        self.altered(("cleanup.policy", SET, "compact,delete"))
        coordinator = self.broker.metadata
        alter = coordinator.alter_topic_configs

        def late(name: str, change: ConfigChange) -> object:
            self.successResultOf(alter(name, lambda old: {**old, "cleanup.policy": "delete,shred"}))
            return alter(name, change)

        self.patch(coordinator, "alter_topic_configs", late)
        (result,) = self.alter(resource(("cleanup.policy", SUBTRACT, "delete")))
        self.assertEqual(result.error_code, ErrorCode.INVALID_CONFIG)
        self.assertEqual(coordinator.state.topics["t"].configs["cleanup.policy"], "delete,shred")
