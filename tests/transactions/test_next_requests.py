"""Tests of every state of a transactional id with every next request."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import Action, Answer, Store
from kafkatx.transactions.metadata import TV1, TV2, Producer, TransactionMetadata
from kafkatx.transactions.transaction import Transaction
from tests.transactions.next_requests import ASKS, VERSIONS, Ask, Kind, Situation, Who, answers
from tests.transactions.values import A, B

TIMEOUT_MS = 60_000
NEW_ID = 99


class Machine:
    """A machine in a situation.

    :ivar producer: the producer id and epoch that its producer was told last.
    """

    def __init__(self, situation: Situation, version: int) -> None:
        self._transaction = Transaction("tx", TransactionMetadata(7, TIMEOUT_MS), lambda: 1000, 0)
        self.producer = Producer(7, -1)
        for _ in range(2):
            self._take(self._transaction.initialize(None, TIMEOUT_MS, NEW_ID, "made", 0))
        if situation is not Situation.EMPTY:
            self._take(self._transaction.add(self.producer, [A], version, "made", 0))
        if situation in (Situation.FENCING, Situation.FENCED):
            self._take(self._transaction.initialize(None, TIMEOUT_MS, NEW_ID, "made", 0))
        elif situation in (Situation.RECOVERING, Situation.RECOVERED):
            self._take(self._transaction.initialize(self.producer, TIMEOUT_MS, NEW_ID, "made", 0))
        elif situation not in (Situation.EMPTY, Situation.ONGOING):
            self._take(self._transaction.end(self.producer, situation.commits, version, NEW_ID, "made", 0))
        if situation.has_markers:
            self._take(self._transaction.markers_written(0))

    def ask(self, ask: Ask) -> str:
        """Send a request; return its answer as the table has it."""
        epoch = self.producer.epoch
        error = self._answer(ask)
        if error:
            return error.name
        tells = ask.kind in (Kind.INIT, Kind.COMMIT_2, Kind.ABORT_2)
        return f"{self.producer.epoch - epoch:+}" if tells else "OK"

    def _answer(self, ask: Ask) -> ErrorCode:
        transaction, producer = self._transaction, ask.who.of(self.producer)
        if ask.kind is Kind.VERIFY:
            return transaction.verify(producer, A)
        if ask.kind is Kind.INIT:
            expected = None if ask.who is Who.NEW else producer
            return self._take(transaction.initialize(expected, TIMEOUT_MS, NEW_ID, "asked", 0))
        if ask.kind in (Kind.ADD, Kind.ADD_OFFSETS, Kind.ADD_BY_BROKER):
            version = TV2 if ask.kind is Kind.ADD_BY_BROKER else TV1
            return self._take(transaction.add(producer, [B], version, "asked", 0))
        version = TV2 if ask.kind in (Kind.COMMIT_2, Kind.ABORT_2) else TV1
        commits = ask.kind in (Kind.COMMIT_1, Kind.COMMIT_2)
        return self._take(transaction.end(producer, commits, version, NEW_ID, "asked", 0))

    def _take(self, actions: list[Action]) -> ErrorCode:
        """Store what has to be stored; remember the producer that is told, and return the error."""
        error = ErrorCode.NONE
        for action in actions:
            if isinstance(action, Store):
                error = self._take(self._transaction.stored(ErrorCode.NONE, 0))
            elif isinstance(action, Answer):
                error = action.reply.error
                if action.reply.producer.id >= 0:
                    self.producer = action.reply.producer
        return error


class NextRequestTests(SynchronousTestCase):
    def test_all(self) -> None:
        """The machine gives each answer of the table, in each state that clients of each version make."""
        for version in VERSIONS:
            for situation in Situation:
                for ask in ASKS:
                    answer = Machine(situation, version).ask(ask)
                    name = f"version {version}, {situation.value}: {ask.label}"
                    self.assertEqual(answer, answers(ask, version)[situation], name)
