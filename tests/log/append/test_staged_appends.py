"""Tests of kafkatx.log.append.staged_appends: what staged batches change, and how it is undone."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.append.appender import Appender
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.records.control import build_marker
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.log_replication import at_offset
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch

CONFIG = LogConfig(producer_ids_max=4)


class StagedAppendsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the appender of an empty log."""
        self.epochs = LeaderEpochCache()
        self.appender = Appender(TP, CONFIG, ProducerStateManager(), EndedTransactions(), self.epochs, 0)

    def begin(self, producer_id: int, sequence: int = 0) -> None:
        """Stage a batch of a transaction."""
        sent = in_transaction(1, producer_id, sequence)
        self.assertEqual(self.appender.append(sent, 0, NOW_MS, True, None, True).error, 0)

    def test_undone(self) -> None:
        """Discarded appends have opened and ended no transaction, in whatever order they were staged."""
        for producer_id in (1, 2, 3):
            self.begin(producer_id)
        self.appender.written()
        before = dict(self.appender.producers.states)
        self.appender.append_marker(2, 0, ABORT, 0, NOW_MS)
        self.begin(2, 1)
        self.appender.append_marker(1, 0, COMMIT, 0, NOW_MS)
        assert self.appender.changes is not None
        self.assertEqual([one.first_offset for one in self.appender.changes.ended], [1, 0])
        self.assertEqual(list(self.appender.producers.open), [3, 2])
        self.appender.discard()
        self.assertEqual(list(self.appender.producers.open.items()), [(1, 0), (2, 1), (3, 2)])
        self.assertEqual(self.appender.producers.states, before)
        self.assertEqual(self.appender.next_offset, 3)

    def test_states_at(self) -> None:
        """The states at an offset between staged batches are those for a snapshot there."""
        self.begin(1)
        self.appender.append_marker(1, 0, ABORT, 0, NOW_MS)
        self.begin(1, 1)
        firsts = [self.appender.producers_at(offset).get(1) for offset in range(4)]
        self.assertEqual([one and one.txn_first_offset for one in firsts], [None, 0, -1, 2])
        self.assertEqual(self.appender.producers.open, {1: 2})

    def test_reply_with_both_ends(self) -> None:
        """A fetch reply may begin and end transactions, several of one producer."""
        reply = (
            at_offset(in_transaction(1, 1), 0),
            at_offset(build_marker(1, 0, ABORT, NOW_MS), 1),
            at_offset(in_transaction(1, 1, 1), 2),
            at_offset(build_marker(1, 0, COMMIT, NOW_MS), 3),
        )
        self.appender.append_as_follower(b"".join(reply), 0, NOW_MS, True)
        assert self.appender.changes is not None
        found = [(one.first_offset, one.last_offset, one.committed) for one in self.appender.changes.ended]
        self.assertEqual(found, [(0, 1, False), (2, 3, True)])

    def test_too_many(self) -> None:
        """Producers with open transactions are not forgotten, even if they alone are too many."""
        for producer_id in range(6):
            self.begin(producer_id)
        sent = [at_offset(batch([b"a"], producer=(9 + n, 0, 0)), 6 + n) for n in range(3)]
        self.appender.append_as_follower(b"".join(sent), 0, NOW_MS, False)
        self.assertLessEqual(set(range(6)), set(self.appender.producers.states))
        self.assertLess(len(self.appender.producers.states), 9)

    def test_configured(self) -> None:
        """A changed limit of producers applies at once."""
        self.appender.configure(attrs.evolve(CONFIG, producer_ids_max=1))
        for producer_id in (1, 2):
            self.appender.append(batch([b"a"], producer=(producer_id, 0, 0)), 0, NOW_MS, True)
        self.assertEqual(list(self.appender.producers.states), [2])
