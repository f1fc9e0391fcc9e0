"""EndTxn: in both versions of transactions, from the decision to the last marker."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from tests.broker.transactional import TV2_END, TV2_PRODUCE, TransactionsTestCase

INVALID, FENCED = ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED


class Tv1Tests(TransactionsTestCase):
    """Versions 0-4."""

    def test_commit(self) -> None:
        """Committed records are shown once the transaction has ended, in every version."""
        for version in range(5):
            producer = self.producer()
            self.add(producer, 0)
            self.write(producer, b"%d" % version)
            stable = self.fetched()[1]
            self.assertEqual(self.end(producer, version=version).error_code, 0)
            self.assertEqual(self.fetched()[1], stable + 2)
        self.assertEqual(self.fetched()[0], [b"0", b"1", b"2", b"3", b"4"])
        self.assertEqual(self.state, "CompleteCommit")

    def test_open(self) -> None:
        """Records of an open transaction are not shown to readers of committed ones, nor what follows."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"open")
        self.fill(b"after")
        self.assertEqual(self.fetched(), ([], 0))
        self.assertEqual(self.fetched(False)[0], [b"open", b"after"])

    def test_repeated(self) -> None:
        """A repeated request succeeds; the contrary is refused."""
        producer = self.transact(b"x")
        self.assertEqual(self.end(producer).error_code, 0)
        self.assertEqual(self.end(producer, False).error_code, INVALID)

    def test_nothing(self) -> None:
        """Without a transaction there is nothing to end."""
        producer = self.producer()
        for commit in (True, False):
            self.assertEqual(self.end(producer, commit).error_code, INVALID)

    def test_refused(self) -> None:
        """Unknown ids and old epochs are refused, in the words of the version; nothing is written."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.end((99, 0)).error_code, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        self.assertEqual(self.end(producer, name="no").error_code, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        for version, error in ((1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, FENCED), (4, FENCED)):
            self.assertEqual(self.end((producer[0], 7), version=version).error_code, error)
        self.assertEqual(self.state, "Ongoing")

    def test_deleted_topic(self) -> None:
        """A deleted topic needs no marker: the transaction ends."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        self.delete_topic()
        self.assertEqual(self.end(producer).error_code, 0)
        self.assertEqual(self.state, "CompleteCommit")

    def delete_topic(self) -> None:
        """Delete the topic."""
        from twisted.internet.defer import Deferred

        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))


class Tv2Tests(TransactionsTestCase):
    """Version 5."""

    def test_epochs(self) -> None:
        """Each end raises the epoch; partitions are added by produce requests."""
        producer = self.producer()
        for number in range(3):
            self.assertEqual(self.write(producer, b"%d" % number, version=TV2_PRODUCE), 0)
            ended = self.end(producer, number != 1, version=TV2_END)
            self.assertEqual((ended.error_code, ended.producer_id), (0, producer[0]))
            self.assertEqual(ended.producer_epoch, producer[1] + 1)
            producer = ended.producer_id, ended.producer_epoch
        self.assertEqual(self.fetched(), ([b"0", b"1", b"2"], 6))

    def test_repeated(self) -> None:
        """A repeated request has the epoch before, and gets the same answer; a later transaction is safe."""
        producer = self.producer()
        self.write(producer, b"x", version=TV2_PRODUCE)
        first = self.end(producer, version=TV2_END)
        self.assertEqual(self.end(producer, version=TV2_END), first)
        self.assertEqual(self.end(producer, False, version=TV2_END).error_code, INVALID)
        following = first.producer_id, first.producer_epoch
        self.write(following, b"y", version=TV2_PRODUCE)
        self.assertEqual(self.end(producer, version=TV2_END).error_code, FENCED)
        self.assertEqual(self.state, "Ongoing")

    def test_abort_nothing(self) -> None:
        """An abort without a transaction raises the epoch; a commit is refused."""
        producer = self.producer()
        self.assertEqual(self.end(producer, version=TV2_END).error_code, INVALID)
        aborted = self.end(producer, False, version=TV2_END)
        self.assertEqual((aborted.error_code, aborted.producer_epoch), (0, producer[1] + 1))

    def test_late_batch(self) -> None:
        """A batch of an ended transaction is refused by its epoch, also where nothing was asked."""
        producer = self.producer()
        self.write(producer, b"x", version=TV2_PRODUCE)
        self.end(producer, version=TV2_END)
        late = self.write(producer, b"late", sequence=1, version=TV2_PRODUCE)
        self.assertEqual(late, ErrorCode.INVALID_PRODUCER_EPOCH)

    def test_rollover(self) -> None:
        """The last epoch's transaction is committed; the answer has a new id, with which all goes on."""
        producer = self.producer()
        transaction = self.transaction()
        transaction.metadata = attrs.evolve(transaction.metadata, producer_epoch=32766)
        last = producer[0], 32766
        self.assertEqual(self.write(last, b"x", version=TV2_PRODUCE), 0)
        ended = self.end(last, version=TV2_END)
        self.assertEqual((ended.error_code, ended.producer_epoch), (0, 0))
        self.assertNotEqual(ended.producer_id, producer[0])
        self.assertEqual(self.end(last, version=TV2_END), ended)
        following = ended.producer_id, 0
        self.assertEqual(self.write(following, b"y", version=TV2_PRODUCE), 0)
        self.assertEqual(self.end(following, version=TV2_END).producer_epoch, 1)
        self.assertEqual(self.fetched(), ([b"x", b"y"], 4))
