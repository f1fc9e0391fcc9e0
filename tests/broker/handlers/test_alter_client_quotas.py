"""AlterClientQuotas: quotas are checked, stored, and refused with the right error."""

from __future__ import annotations

import math
from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from kafkatx.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.broker.running import BrokerTestCase, Held, codes

ALTER, DESCRIBE = 49, 48
EXACT, DEFAULT, ANY = 0, 1, 2
USER, CLIENT_ID, IP = "user", "client-id", "ip"
REMOVE = None


def entry(*entity: tuple[str, str | None], **ops: float | None) -> EntryData:
    """Return the change of one entity; None removes a quota."""
    return EntryData(
        [EntityData(kind, name) for kind, name in entity],
        [OpData(key, 0.0 if value is None else value, value is None) for key, value in ops.items()],
    )


class QuotasTestCase(BrokerTestCase):
    def alter(self, *entries: EntryData, version: int = 1, validate_only: bool = False) -> Any:
        """Return the results of the entries."""
        return self.ask(ALTER, version, AlterClientQuotasRequest(list(entries), validate_only)).entries

    def change(self, *entity: tuple[str, str | None], **ops: float | None) -> None:
        """Change quotas, successfully."""
        self.assertEqual(codes(self.alter(entry(*entity, **ops))), [0])

    def describe(
        self, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
    ) -> Any:
        """Return the response to a filter."""
        asked = [ComponentData(*component) for component in components]
        return self.ask(DESCRIBE, version, DescribeClientQuotasRequest(asked, strict))

    def shown(self, *components: tuple[str, int, str | None], strict: bool = False) -> list[Any]:
        """Return the entities that a filter selects, with their quotas."""
        response = self.describe(*components, strict=strict)
        self.assertEqual((response.error_code, response.error_message), (0, None))
        return [
            ({e.entity_type: e.entity_name for e in one.entity}, {v.key: v.value for v in one.values})
            for one in response.entries
        ]


class AlterTests(QuotasTestCase):
    def test_set_change_remove(self) -> None:
        """Quotas are set, changed and removed one by one in both versions; the answer names the entity."""
        for version in (0, 1):
            self.change((CLIENT_ID, "c"), producer_byte_rate=1000.0, request_percentage=0.5)
            (result,) = self.alter(
                entry((CLIENT_ID, "c"), producer_byte_rate=2000.0, request_percentage=REMOVE), version=version
            )
            self.assertEqual((result.error_code, result.error_message), (0, None))
            self.assertEqual(result.entity, [EntityData(CLIENT_ID, "c")])
            self.assertEqual(self.shown(), [({CLIENT_ID: "c"}, {"producer_byte_rate": 2000.0})])
            self.change((CLIENT_ID, "c"), producer_byte_rate=REMOVE, consumer_byte_rate=REMOVE)
            self.assertEqual(self.shown(), [])

    def test_every_kind(self) -> None:
        """Every combination of types has its quotas, for names and the default, in one order."""
        of_client = {
            "producer_byte_rate": 1.0,
            "consumer_byte_rate": 2.0,
            "request_percentage": 0.1,
            "controller_mutation_rate": 0.2,
        }
        for entity in (
            [(USER, "ann")],
            [(USER, None)],
            [(CLIENT_ID, "c")],
            [(CLIENT_ID, None)],
            [(USER, "ann"), (CLIENT_ID, "c")],
            [(CLIENT_ID, None), (USER, "ann")],
            [(USER, None), (CLIENT_ID, "c")],
            [(USER, None), (CLIENT_ID, None)],
        ):
            self.change(*entity, **of_client)
            self.assertIn((dict(entity), of_client), self.shown())
        for address in ("192.0.2.1", "2001:db8::1", None):
            self.change((IP, address), connection_creation_rate=7)
            self.assertIn(({IP: address}, {"connection_creation_rate": 7.0}), self.shown())
        self.change((CLIENT_ID, "c"), (USER, "ann"), producer_byte_rate=9.0)
        self.assertEqual(len(self.shown()), 11)

    def test_refused_values(self) -> None:
        """A quota unknown for the entity, and an invalid value, are INVALID_REQUEST."""
        client, address = (CLIENT_ID, "c"), (IP, "192.0.2.1")
        for wrong, why in (
            (entry(client, producer_rate=1.0), "Invalid configuration key producer_rate"),
            (
                entry(client, connection_creation_rate=1.0),
                "Invalid configuration key connection_creation_rate",
            ),
            (entry(address, producer_byte_rate=1.0), "Invalid configuration key producer_byte_rate"),
            (entry(client, producer_byte_rate=0.0), "Quota producer_byte_rate must be greater than 0"),
            (entry(client, producer_byte_rate=-1.0), "Quota producer_byte_rate must be greater than 0"),
            (entry(client, producer_byte_rate=1e-9), "Quota producer_byte_rate must be greater than 0"),
            (entry(client, request_percentage=math.nan), "Quota request_percentage must be greater than 0"),
            (entry(client, consumer_byte_rate=1.5), "consumer_byte_rate cannot be a fractional value."),
            (entry(client, consumer_byte_rate=1e19), "too large for 64 bits."),
            (entry(client, consumer_byte_rate=math.inf), "too large for 64 bits."),
            (entry(address, connection_creation_rate=2.0**31), "too large for 32 bits."),
        ):
            (result,) = self.alter(wrong)
            self.assertEqual(result.error_code, ErrorCode.INVALID_REQUEST)
            self.assertIn(why, result.error_message)
        self.assertEqual(self.shown(), [])

    def test_refused_entities(self) -> None:
        """Invalid entities are INVALID_REQUEST."""
        for entity, why in (
            ([], "Invalid empty client quota entity"),
            ([("topic", "t")], "Unhandled client quota entity type: topic"),
            ([(USER, "")], "Empty user not supported"),
            ([(CLIENT_ID, "x" * 32_768)], "A too long client-id not supported"),
            ([(USER, "a"), (USER, "b")], "duplicate entity entry user"),
            ([(IP, "192.0.2.1"), (USER, "a")], "Invalid quota entity combination"),
            ([(IP, "localhost")], "localhost is not a valid IP address"),
        ):
            (result,) = self.alter(entry(*entity, producer_byte_rate=1.0))
            self.assertEqual(result.error_code, ErrorCode.INVALID_REQUEST)
            self.assertIn(why, result.error_message)
        self.assertEqual(self.shown(), [])

    def test_one_wrong(self) -> None:
        """An error of one entity is reported for it alone, and none of its quotas is changed."""
        results = self.alter(
            entry((USER, "a"), producer_byte_rate=1.0),
            entry((USER, "b"), producer_byte_rate=1.0, consumer_byte_rate=0.0),
            entry((USER, "c"), producer_byte_rate=1.0),
        )
        self.assertEqual(codes(results), [0, ErrorCode.INVALID_REQUEST, 0])
        self.assertEqual([entity for entity, _ in self.shown()], [{USER: "a"}, {USER: "c"}])

    def test_twice(self) -> None:
        """A duplicate entity, in any order of its types, or a duplicate quota is refused."""
        entity, turned = ((USER, "a"), (CLIENT_ID, "c")), ((CLIENT_ID, "c"), (USER, "a"))
        results = self.alter(
            entry(*entity, producer_byte_rate=1.0),
            entry((USER, "b"), producer_byte_rate=1.0),
            entry(*turned, producer_byte_rate=2.0),
        )
        self.assertEqual(codes(results), [ErrorCode.INVALID_REQUEST, 0])
        self.assertIn("Ignoring duplicate entity client-id=c, user=a", results[0].error_message)
        doubled = entry((USER, "c"), producer_byte_rate=1.0)
        doubled.ops *= 2
        (result,) = self.alter(doubled)
        self.assertEqual(result.error_code, ErrorCode.INVALID_REQUEST)
        self.assertIn("Duplicate quota key producer_byte_rate", result.error_message)
        self.assertEqual([found for found, _ in self.shown()], [{USER: "b"}])

    def test_validate_only(self) -> None:
        """A request with validate_only is checked, but changes nothing."""
        results = self.alter(
            entry((USER, "a"), producer_byte_rate=1.0),
            entry((USER, "b"), producer_byte_rate=0.0),
            validate_only=True,
        )
        self.assertEqual(codes(results), [0, ErrorCode.INVALID_REQUEST])
        self.assertEqual(self.shown(), [])

    def test_answer_when_it_is_kept(self) -> None:
        """The answer waits for the disk; if that fails, every entity has the error."""
        held = Held()
        self.broker = self.make_broker(held)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        request = AlterClientQuotasRequest([entry((USER, "a"), producer_byte_rate=1.0)])
        answer = self.answer(ALTER, 1, request)
        self.assertNoResult(answer)
        held.work()
        self.assertEqual(codes(self.response(ALTER, 1, self.successResultOf(answer)).entries), [0])
        answer = self.answer(ALTER, 1, request)
        coordinator = self.broker.metadata
        assert isinstance(coordinator, EmbeddedMetadataStore)
        stopping = coordinator.stop()
        assert coordinator._database is not None
        coordinator._database._db.execute("PRAGMA query_only=1")
        held.work()
        self.successResultOf(stopping)
        (result,) = self.response(ALTER, 1, self.successResultOf(answer)).entries
        self.assertEqual(result.error_code, ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual(result.entity, [EntityData(USER, "a")])
