"""Replay of the records of ``__transaction_state``."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions.replay import TransactionReplayer
from kafkatx.broker.coordinator.transactions.shard import TransactionShard
from kafkatx.transactions.records import UnreadableTransaction, encode_key, encode_value
from kafkatx.transactions.states import State
from kafkatx.types import TopicPartition
from tests.transactions.values import state_of


class FakePartition:
    """A partition in a leader epoch."""

    topic_partition = TopicPartition("__transaction_state", 7)
    leader_epoch = 5


class ReplayTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a replayer; this case plays the coordinator."""
        partition: Any = FakePartition()
        self.shard = TransactionShard(partition)
        self.served: list[TransactionShard] = []
        self.wall_ms = lambda: 2000
        self.now_ms = lambda: 10
        self.serve = self.served.append
        self.replay = TransactionReplayer(self, self.shard)

    def test_replay(self) -> None:
        """Each id has its state; tombstones and other records are skipped; all is served at the end."""
        ongoing = state_of(State.ONGOING)
        self.replay(encode_key("tx"), encode_value(ongoing))
        self.replay(encode_key("old"), None)
        self.replay(b"\0\x07new", b"x")
        self.assertEqual(self.served, [])
        self.replay.loaded()
        self.assertEqual(self.served, [self.shard])
        self.assertEqual(
            {name: one.metadata for name, one in self.shard.transactions.items()}, {"tx": ongoing}
        )
        self.assertEqual((self.shard.number, self.shard.coordinator_epoch), (7, 5))

    def test_unreadable(self) -> None:
        """Damaged records, and records of transactions, are refused one by one."""
        for key, value in ((encode_key("a"), b"?"), (b"\0\0\0\x05a", b"")):
            self.assertRaises(UnreadableTransaction, self.replay, key, value)
        self.assertRaises(UnreadableTransaction, self.replay.pending, 1, encode_key("a"), None)
