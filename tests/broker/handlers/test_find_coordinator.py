"""FindCoordinator: this broker serves all groups once ``__consumer_offsets`` exists."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.broker.coordinated import partition_of
from tests.broker.running import NODE, BrokerTestCase, Held

KEY = 10
VERSIONS = range(5)
MANY_SINCE = 4
TRANSACTION = 1

HERE = (0, None, NODE.id, NODE.host, NODE.port)
NOWHERE = (-1, "", -1)


class FindCoordinatorTests(BrokerTestCase):
    def request(self, version: int, *keys: str, key_type: int = 0) -> FindCoordinatorRequest:
        """Return a request for these keys."""
        if version >= MANY_SINCE:
            return FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
        return FindCoordinatorRequest(keys[0], key_type)

    def rows(self, version: int, response: FindCoordinatorResponse) -> list[Any]:
        """Return error, message and node of each result."""
        parts: list[Any] = list(response.coordinators) if version >= MANY_SINCE else [response]
        return [(p.error_code, p.error_message or None, p.node_id, p.host, p.port) for p in parts]

    def find(self, version: int, *keys: str, key_type: int = 0) -> list[Any]:
        """Send the request; return its rows."""
        return self.rows(version, self.ask(KEY, version, self.request(version, *keys, key_type=key_type)))

    def test_every_version(self) -> None:
        """Every version returns the address of Metadata, for any group id, even an empty one."""
        for version in VERSIONS:
            for group in ("g", "", "g" * 300):
                self.assertEqual(self.find(version, group), [HERE], version)

    def test_many(self) -> None:
        """Several keys may be given from version 4 on, and the answer names each."""
        response = self.ask(KEY, 4, self.request(4, "a", "b", "c"))
        self.assertEqual([c.key for c in response.coordinators], ["a", "b", "c"])
        self.assertEqual(self.rows(4, response), [HERE] * 3)
        self.assertEqual(self.find(4), [])

    def test_makes_the_topic(self) -> None:
        """The first request waits for ``__consumer_offsets``; later ones wait no longer than that."""
        held = Held()
        self.broker = self.make_broker(held)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        waiting = [self.answer(KEY, 3, self.request(3, "g")) for _ in range(2)]
        for one in waiting:
            self.assertNoResult(one)
        held.work()
        for one in waiting:
            response = self.response(KEY, 3, self.successResultOf(one))
            self.assertEqual(self.rows(3, response), [HERE])
        self.assertEqual(len(self.broker.topics.of(CONSUMER_OFFSETS)), 50)
        self.assertEqual(self.find(3, "g"), [HERE])

    def test_cannot_be_made(self) -> None:
        """The coordinator is not available if the topic cannot be created."""

        def create(*args: Any) -> Any:
            raise OSError("full")

        self.patch(self.broker.store, "create", create)
        for version in VERSIONS:
            ((code, _, *node),) = self.find(version, "g")
            self.assertEqual((code, tuple(node)), (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOWHERE))

    def test_offline(self) -> None:
        """A group whose partition is in a failed log dir has no coordinator; others have one."""
        self.find(4, "g")
        partition_of(self.broker, "hello").go_offline()
        lost, found = self.find(4, "hello", "Hello World")
        self.assertEqual((lost[0], lost[2:]), (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOWHERE))
        self.assertEqual(found, HERE)

    def test_transactions(self) -> None:
        """The coordinator of a transactional id is that of its own topic, which the first request creates."""
        for version in VERSIONS[1:]:
            self.assertEqual(self.find(version, "x", key_type=TRANSACTION), [HERE])
        self.assertTrue(self.broker.transactions.topic.exists)
        self.assertFalse(self.broker.groups.topic.exists)

    def test_unknown_type(self) -> None:
        """An unknown key type is an invalid request."""
        for key_type in (-1, 2):
            ((code, *_),) = self.find(4, "x", key_type=key_type)
            self.assertEqual(code, ErrorCode.INVALID_REQUEST)
