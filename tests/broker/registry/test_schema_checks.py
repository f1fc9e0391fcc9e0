"""Records whose schemas are checked: who is let in, with which errors, and at which cost to others."""

from __future__ import annotations

import uuid

from twisted.internet.defer import Deferred

from kafkatx.broker.registry.schema_checks import KNOWN_S, UNKNOWN_S
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.records.keyed import build_keyed
from kafkatx.wire.messages.produce import PartitionProduceResponse
from tests.broker.registry.case import B, RegistryCase


def prefix(schema_id: int) -> bytes:
    """Return the prefix of an id."""
    return b"\0" + schema_id.to_bytes(4, "big")


class ChecksTests(RegistryCase):
    def setUp(self) -> None:
        """Make a topic whose values are checked, and a schema for them."""
        super().setUp()
        self.broker.validator.check_schemas = lambda partition, records: Deferred.fromCoroutine(
            self.parts.checks.check(partition, records)
        )
        (self.checked,) = self.make_topic("t", confluent_value_schema_validation="true")
        self.schema_id = self.register("t-value")["id"]

    def send(self, *values: bytes, topic: str = "t") -> PartitionProduceResponse:
        """Produce values in one batch; return the result."""
        return self.produce(build_values(values, self.now_ms), topic=topic)

    def test_good(self) -> None:
        """Records with an id of the subject are stored, also if its version is deleted."""
        good = prefix(self.schema_id) + b"x"
        self.assertEqual(self.send(good, good).error_code, 0)
        self.assertEqual(self.checked.log.log_end_offset, 2)
        self.ok("DELETE", "/subjects/t-value")
        self.clock.advance(KNOWN_S)
        self.assertEqual(self.send(good).error_code, 0)

    def test_bad(self) -> None:
        """A batch with a record of no id, or of another subject's, is refused with the index of each."""
        other = self.register("other-value", '"string"')["id"]
        good = prefix(self.schema_id)
        result = self.send(good, b"{}", good, prefix(other), prefix(99))
        self.assertEqual(result.error_code, ErrorCode.INVALID_RECORD)
        self.assertEqual([error.batch_index for error in result.record_errors], [1, 3, 4])
        self.assertIn("record 1: the value has no id", result.error_message or "")
        self.assertIn(
            f"the id {other}, which is not of subject t-value",
            result.record_errors[1].batch_index_error_message or "",
        )
        self.assertEqual(self.checked.log.log_end_offset, 0)

    def test_guid(self) -> None:
        """A guid in a header is as good as an id."""
        guid = uuid.UUID(self.ok("GET", f"/schemas/ids/{self.schema_id}")["guid"]).bytes
        checks = self.parts.checks
        for name, expected in ((b"\1" + guid, True), (b"\1" + bytes(16), False)):
            belongs = self.successResultOf(Deferred.fromCoroutine(checks._belongs("t-value", name)))
            self.assertEqual(belongs, expected)
        belongs = self.successResultOf(Deferred.fromCoroutine(checks._belongs("u-value", b"\1" + guid)))
        self.assertFalse(belongs)

    def test_registered_later(self) -> None:
        """An id that was unknown is asked for again soon; a known one is not."""
        later = prefix(self.schema_id + 1)
        self.assertEqual(self.send(later).error_code, ErrorCode.INVALID_RECORD)
        self.register("t-value", B)
        self.clock.advance(UNKNOWN_S)
        self.assertEqual(self.send(later).error_code, 0)
        self.registry.topic = None  # type: ignore[assignment]
        self.assertEqual(self.send(later).error_code, 0)

    def test_switched(self) -> None:
        """The check follows the topic's config; other topics have none."""
        self.make_topic("u")
        self.assertEqual(self.send(b"x", topic="u").error_code, 0)
        for value, expected in (("false", 0), ("true", ErrorCode.INVALID_RECORD)):
            change = {"confluent.value.schema.validation": value}
            altering = self.broker.topic_commands.alter_configs("t", lambda old, new=change: {**old, **new})  # type: ignore[misc]
            self.successResultOf(Deferred.fromCoroutine(altering))
            self.assertEqual(self.send(b"x").error_code, expected)

    def test_keys(self) -> None:
        """Keys are checked by a config of their own; a null needs no schema."""
        self.make_topic("k", confluent_key_schema_validation="true")
        self.assertEqual(self.send(b"x", topic="k").error_code, 0)
        keyed = build_keyed([(b"bare", b"x")], self.now_ms)
        self.assertEqual(self.produce(keyed, topic="k").error_code, ErrorCode.INVALID_RECORD)
        self.register("k-key", '"string"')
        keyed = build_keyed([(prefix(2) + b"k", b"x")], self.now_ms)
        self.assertEqual(self.produce(keyed, topic="k").error_code, 0)

    def test_straight_path(self) -> None:
        """A topic that is not checked does not come near the validator."""
        (partition,) = self.make_topic("u")
        self.assertTrue(partition.writable)
        self.assertFalse(self.checked.writable)

    def test_no_registry(self) -> None:
        """A registry that does not answer makes producers try again."""
        self.checks = self.parts.checks
        self.patch(self.registry.topic, "other_leader", lambda: None)
        self.registry.role_changed(self.partition, False)
        self.partition.resign()
        checking = Deferred.fromCoroutine(self.checks.check(self.checked, build_values([prefix(7)], 0)))
        self.clock.pump([0.1] * 120)
        self.assertEqual(self.failureResultOf(checking, RequestError).value.code, ErrorCode.REQUEST_TIMED_OUT)
