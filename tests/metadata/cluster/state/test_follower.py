"""The follower reads what has changed, late if it is not urgent, and everything again after a failure."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.metadata.cluster.state.follower import FOREIGN_DELAY_S, RETRY_S
from tests.metadata.cluster.cases import RunningCase

TOPIC = b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1]}}'


class FollowerTests(RunningCase):
    def setUp(self) -> None:
        """Start a store."""
        super().setUp()
        self.store = self.started()

    def test_foreign_topic(self) -> None:
        """A topic whose node appears without a record is read a moment later, and dropped when it is gone."""
        self.write(Create("/brokers/topics/t", TOPIC))
        self.stores.advance(FOREIGN_DELAY_S / 2)
        self.assertNotIn("t", self.store.state.topics)
        self.stores.advance(FOREIGN_DELAY_S)
        self.assertEqual(self.store.state.topics["t"].partitions[0].leader, 1)
        self.write(
            *map(
                Delete,
                (
                    "/brokers/topics/t/partitions/0/state",
                    "/brokers/topics/t/partitions/0",
                    "/brokers/topics/t/partitions",
                    "/brokers/topics/t",
                ),
            )
        )
        self.stores.advance(2 * FOREIGN_DELAY_S)
        self.assertEqual((self.store.state.topics, self.store.state.topic_names), ({}, {}))

    def test_unreadable_notification(self) -> None:
        """A notification that cannot be read is ignored; later ones are not."""
        self.write(Create("/config/changes/config_change_", b"?", sequential=True))
        self.stores.advance(2 * FOREIGN_DELAY_S)
        self.write(
            Create("/config/brokers/1", b'{"version":1,"config":{"a":"b"}}'),
            Create(
                "/config/changes/config_change_",
                b'{"version":2,"entity_path":"brokers/1"}',
                sequential=True,
            ),
        )
        self.stores.advance(2 * FOREIGN_DELAY_S)
        self.assertEqual(self.store.state.broker_configs, {"1": {"a": "b"}})

    def test_unreadable_record(self) -> None:
        """A change record that cannot be read makes the store read everything."""
        self.result(self.store.create_topic("t", [[1]], {}))
        self.write(
            SetData("/config/topics/t", b'{"version":1,"config":{"a":"b"}}'),
            Create("/kafkatx/changes/c-", b'{"version":9}', sequential=True),
        )
        self.stores.advance(RETRY_S)
        self.assertEqual(self.store.state.topics["t"].configs, {"a": "b"})
        self.assertTrue(self.store._view.ready)

    def test_unreadable_topic(self) -> None:
        """A topic whose node is damaged while brokers run stays as it was known."""
        before = self.result(self.store.create_topic("t", [[1]], {}))
        self.write(SetData("/brokers/topics/t", b"{}"))
        link = self.tree(self.store).link
        link.cut()
        self.stores.settle()
        self.result(self.store._view.until(lambda: not self.store._view.ready, 1.0))
        link.heal()
        self.stores.advance(1.0)
        self.assertTrue(self.store._view.ready)
        self.assertEqual(self.store.state.topics["t"], before)

    def test_missing_parent(self) -> None:
        """A cluster whose parent nodes were removed by a person is read again when they are back."""
        self.write(Delete("/config/changes"))
        self.stores.advance(2 * FOREIGN_DELAY_S)
        self.assertFalse(self.store._view.ready)
        self.stores.advance(3 * RETRY_S)
        self.write(Create("/config/changes"))
        self.stores.advance(RETRY_S)
        self.assertTrue(self.store._view.ready)

    def test_failure(self) -> None:
        """After a failure of ours everything is read again, after a pause."""

        follower = self.store._follower
        read = follower._read

        async def broken(path: str) -> None:
            self.patch(follower, "_read", read)
            raise ZeroDivisionError

        self.patch(follower, "_read", broken)
        self.write(Create("/brokers/topics/t", TOPIC))
        self.stores.advance(2 * FOREIGN_DELAY_S)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertFalse(self.store._view.ready)
        self.stores.advance(RETRY_S)
        self.assertTrue(self.store._view.ready)
        self.assertIn("t", self.store.state.topics)
