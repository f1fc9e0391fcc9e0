"""Tests of kafkatx.clientcore.producer.transactions.machine."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.transactions.errors import AbortRequired, ProducerFenced, TransactionMisuse
from kafkatx.clientcore.producer.transactions.machine import TransactionMachine
from kafkatx.clientcore.producer.transactions.states import State
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST, NEXT = ProducerIdAndEpoch(7, 0), ProducerIdAndEpoch(7, 1)
REFUSED = ProduceFailed(ErrorCode.MESSAGE_TOO_LARGE, "t", 0)
FENCED = RequestError(ErrorCode.PRODUCER_FENCED, "x")


def machine(implicit: bool = False) -> TransactionMachine:
    """Return a machine with an open transaction."""
    made = TransactionMachine("id")
    made.initialized(FIRST, implicit)
    made.begin()
    return made


class MachineTests(SynchronousTestCase):
    def test_not_started(self) -> None:
        """Without an identity nothing can be begun or sent."""
        made = TransactionMachine("id")
        self.assertRaises(TransactionMisuse, made.begin)
        self.assertRaises(TransactionMisuse, made.check_open)
        self.assertFalse(made.open)

    def test_outside(self) -> None:
        """Records are accepted from begin() to commit() or abort() only."""
        made = TransactionMachine("id")
        made.initialized(FIRST, True)
        self.assertRaises(TransactionMisuse, made.check_open)
        for end in (made.commit, made.abort):
            made.begin()
            made.check_open()
            self.assertRaises(TransactionMisuse, made.begin)
            end()
            self.assertRaises(TransactionMisuse, made.check_open)
            self.assertFalse(made.sends)
            end()  # again, because its outcome is not known
            made.ended(None)
            self.assertIs(made.state, State.READY)

    def test_explicit(self) -> None:
        """In protocol 1 a partition is sent to when the coordinator knows it, and added once."""
        made = machine()
        self.assertEqual(made.admit([T0, T1]), set())
        self.assertEqual(set(made.wanted), {T0, T1})
        self.assertFalse(made.begun)
        made.added([T0])
        self.assertEqual(made.admit([T0, T1]), {T0})
        self.assertEqual(list(made.wanted), [T1])
        made.commit()
        made.ended(None)
        made.begin()
        self.assertEqual(made.admit([T0]), set())
        self.assertEqual(made.identity, FIRST)

    def test_implicit(self) -> None:
        """In protocol 2 sending adds; each end brings another identity."""
        made = machine(implicit=True)
        self.assertEqual(made.admit([T0]), {T0})
        self.assertFalse(made.wanted)
        self.assertTrue(made.begun)
        made.commit()
        self.assertEqual(made.admit([T0]), set())
        made.ended(NEXT)
        self.assertEqual(made.identity, NEXT)
        self.assertFalse(made.begun)

    def test_failed(self) -> None:
        """After a failure nothing is accepted, sent or committed, until it is aborted."""
        made = machine(implicit=True)
        made.fail(REFUSED)
        made.fail(ProduceFailed(ErrorCode.INVALID_RECORD, "t", 1))
        error = self.assertRaises(AbortRequired, made.commit)
        self.assertIs(error.first, REFUSED)
        self.assertRaises(AbortRequired, made.check_open)
        self.assertFalse(made.sends)
        self.assertTrue(made.open)
        made.abort()
        self.assertTrue(made.needs_epoch)
        made.ended(NEXT)
        made.begin()
        made.check_open()
        self.assertFalse(made.needs_epoch)

    def test_dropped(self) -> None:
        """Records that an abort drops leave gaps: the next transaction needs another epoch."""
        made = machine()
        made.abort()
        self.assertFalse(made.needs_epoch)
        made.fail(REFUSED)
        self.assertTrue(made.needs_epoch)
        self.assertIs(made.state, State.ABORTING)

    def test_fenced(self) -> None:
        """A producer that was fenced says so to every call, in any state."""
        made = machine()
        made.commit()
        made.fail(FENCED)
        for call in (made.begin, made.commit, made.abort, made.check_open, made.check):
            self.assertRaises(ProducerFenced, call)
        self.assertFalse(made.open or made.may_abort or made.sends)

    def test_no_transaction(self) -> None:
        """A failure outside a transaction, of the records of one before, harms none."""
        made = machine()
        made.abort()
        made.ended(None)
        made.fail(REFUSED)
        self.assertIs(made.state, State.READY)
        made.begin()
        made.check_open()
