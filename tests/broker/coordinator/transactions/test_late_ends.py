"""An EndTxn that was sent for an earlier transaction ends no later one."""

from __future__ import annotations

import random
from typing import ClassVar

from kafkatx.config.table import groups as t
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.net.requests import Peer
from kafkatx.records.batch import parse_header
from kafkatx.records.control import read_marker
from kafkatx.records.conversion import batches, iter_any
from tests.broker.stored import in_memory
from tests.broker.transactional import TransactionsTestCase

SEEDS = 30
TRANSACTIONS = 6


class LateEndCase(TransactionsTestCase):
    """A test case whose client connects again and again."""

    def connect(self) -> Peer:
        """Use a new connection from now on."""
        self.peer = Peer("127.0.0.1", 40_001, "127.0.0.1", 9092)
        return self.peer

    def begin(self, value: bytes, sequence: int) -> None:
        """Begin a transaction with one record."""
        self.assertEqual(self.add(self.mine, 0), [0])
        self.assertEqual(self.write(self.mine, value, sequence=sequence), 0)

    def end_over(self, peer: Peer, commit: bool = True) -> int | None:
        """End the transaction over a connection; return the error, None if the connection is closed."""
        before, self.peer = self.peer, peer
        try:
            return self.end(self.mine, commit).error_code
        except ProtocolViolation:
            return None
        finally:
            self.peer = before

    def setUp(self) -> None:
        """Make a producer."""
        super().setUp()
        self.first = self.connect()
        self.mine = self.producer()


class RefusedTests(LateEndCase):
    """By default the connection is closed."""

    def test_late(self) -> None:
        """A delayed EndTxn, of which the repetition has ended its transaction, leaves the next one open."""
        self.begin(b"one", 0)
        second = self.connect()
        self.assertEqual(self.end_over(second), 0)
        self.begin(b"two", 1)
        self.assertIsNone(self.end_over(self.first))
        self.assertEqual(self.state, "Ongoing")
        self.assertEqual(self.broker.transactions.late_ends.count, 1)
        self.assertEqual(self.end_over(second, commit=False), 0)
        self.assertEqual(self.fetched(), ([b"one", b"two"], 4))

    def test_message(self) -> None:
        """The error names the transactional id, the reason and the setting."""
        old = self.peer
        self.connect()
        self.begin(b"one", 0)
        self.peer = old
        error = self.assertRaises(ProtocolViolation, self.end, self.mine)
        for part in ("transactional id 'tx'", "for an earlier one", "kafkatx.transactions.late.end=refuse"):
            self.assertIn(part, str(error))

    def test_same_connection(self) -> None:
        """An EndTxn over the connection of the transaction, or a newer one, ends it."""
        for sequence, peer in enumerate((self.first, self.first, self.connect())):
            self.peer = self.first
            self.begin(b"x", sequence)
            self.assertEqual(self.end_over(peer), 0)
        self.assertEqual(self.broker.transactions.late_ends.count, 0)

    def test_offsets(self) -> None:
        """AddOffsetsToTxn begins a transaction as well."""
        self.connect()
        self.assertEqual(self.add_offsets(self.mine), 0)
        self.assertIsNone(self.end_over(self.first))

    def test_other_versions(self) -> None:
        """Version 2 has its epochs; an error of the request itself is told as always."""
        self.connect()
        self.begin(b"one", 0)
        self.peer = self.first
        self.assertEqual(self.end((self.mine[0], 7)).error_code, ErrorCode.PRODUCER_FENCED)
        self.assertEqual(self.end(self.mine, version=5).error_code, 0)
        self.assertEqual(self.broker.transactions.late_ends.count, 0)

    def test_loaded(self) -> None:
        """After a load no connection of the transaction is known, and all may end it."""
        self.connect()
        self.begin(b"one", 0)
        self.reload()
        self.assertEqual(self.end_over(self.first), 0)


class LoggedTests(LateEndCase):
    """With ``log`` the request is carried out, as by Apache Kafka."""

    settings: ClassVar[dict[str, str]] = {**LateEndCase.settings, t.TRANSACTIONS_LATE_END.name: "log"}

    def test_late(self) -> None:
        """It is counted and told, and ends the transaction."""
        self.connect()
        self.begin(b"one", 0)
        self.assertEqual(self.end_over(self.first), 0)
        self.assertEqual((self.state, self.broker.transactions.late_ends.count), ("CompleteCommit", 1))


class _Client:
    """A client of version 1 whose network delays some of its EndTxn requests, and delivers them later.

    :ivar decided: the values of the transactions that it has committed.
    """

    def __init__(self, case: LateEndCase, seed: int) -> None:
        self._case = case
        self._random = random.Random(seed)
        self._delayed: list[tuple[Peer, bool]] = []
        self.decided: list[bytes] = []

    def run(self) -> None:
        """Run transactions of two records each."""
        for number in range(TRANSACTIONS):
            commit = self._random.random() < 0.5
            values = [b"%d %d" % (number, half) for half in range(2)]
            for half, value in enumerate(values):
                self._case.begin(value, 2 * number + half)
                self._deliver()
            if self._random.random() < 0.5:
                self._delayed.append((self._case.peer, commit))
                self._case.connect()
            self._case.assertEqual(self._case.end_over(self._case.peer, commit), 0)
            self.decided += values if commit else []

    def _deliver(self) -> None:
        for one in [one for one in self._delayed if self._random.random() < 0.3]:
            self._delayed.remove(one)
            self._case.end_over(*one)


class ChanceCase(LateEndCase):
    """Clients by chance."""

    def torn(self, seed: int) -> bool:
        """Return True if a client's transactions are not in the log as it has decided."""
        self.setUp()
        client = _Client(self, seed)
        try:
            client.run()
        except AssertionError:  # its transaction had been ended, or its own end was refused
            return True
        return self.committed() != client.decided

    def committed(self) -> list[bytes | None]:
        """Return the values that are committed, by the only producer."""
        found = self.broker.topics.of("t")[0].log
        committed: list[bytes | None] = []
        pending: list[bytes | None] = []
        offset = 0
        while offset < found.log_end_offset:
            data = in_memory(found.read(offset, 1 << 20, found.log_end_offset, True))
            for span in batches(data):
                batch = data[span.position : span.position + span.size]
                offset = span.last_offset + 1
                if not parse_header(batch).control:
                    pending += [record.value for record in iter_any(batch)]
                    continue
                marker = read_marker(batch)
                committed += pending if marker is not None and marker.committed else []
                pending = []
        return committed


class ChanceTests(ChanceCase):
    """With the rule."""

    def test_nothing_is_torn(self) -> None:
        """Each transaction ends as its client has decided, although requests are delayed."""
        for seed in range(SEEDS):
            self.assertFalse(self.torn(seed), f"seed {seed}")


class MutantTests(ChanceCase):
    """Without the rule."""

    settings = LoggedTests.settings

    def test_found(self) -> None:
        """Some seed tears a transaction."""
        self.assertTrue(any(self.torn(seed) for seed in range(SEEDS)))


del ChanceCase
