"""InitProducerId: ids for idempotent producers, and epochs for those with a transactional id."""

from __future__ import annotations

from twisted.logger import LogLevel, capturedLogs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.transactional import TransactionsTestCase

VERSIONS = range(6)


class IdempotentTests(TransactionsTestCase):
    def test_new_ids(self) -> None:
        """Every request gets a new producer id with epoch 0, in every version."""
        responses = [self.ask(22, version, InitProducerIdRequest(None, 1000)) for version in VERSIONS]
        self.assertEqual(len({response.producer_id for response in responses}), len(VERSIONS))
        for response in responses:
            self.assertEqual((response.error_code, response.producer_epoch), (0, 0))
            self.assertGreaterEqual(response.producer_id, 0)


class TransactionalTests(TransactionsTestCase):
    def test_epochs(self) -> None:
        """Each request, in every version, gets the same id with the next epoch; other ids get others."""
        found = [self.init(version=version) for version in VERSIONS]
        self.assertEqual({response.error_code for response in found}, {0})
        self.assertEqual([response.producer_epoch for response in found], list(VERSIONS))
        self.assertEqual(len({response.producer_id for response in found}), 1)
        self.assertNotEqual(self.init("other").producer_id, found[0].producer_id)

    def test_own_epoch(self) -> None:
        """A producer that names its id and epoch goes on; a fenced one is told so in its version's words."""
        producer = self.producer()
        raised = self.init(producer=producer)
        self.assertEqual((raised.error_code, raised.producer_id, raised.producer_epoch), (0, producer[0], 1))
        self.producer()
        for version, error in ((3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)):
            refused = self.init(producer=producer, version=version)
            self.assertEqual(
                (refused.error_code, refused.producer_id, refused.producer_epoch), (error, -1, -1)
            )

    def test_fence(self) -> None:
        """A new producer has the transaction of the one before aborted, and the epoch after the fence."""
        old = self.producer()
        self.add(old, 0)
        self.write(old, b"lost")
        self.assertEqual(self.producer(), (old[0], old[1] + 2))
        self.assertEqual(self.end(old).error_code, ErrorCode.PRODUCER_FENCED)
        self.assertEqual(self.fetched(), ([b"lost"], 2))

    def test_refused(self) -> None:
        """An empty or too long id, and an id without epoch or the reverse, are INVALID_REQUEST."""
        for name, producer in (("", (-1, -1)), ("x" * 40_000, (-1, -1)), ("tx", (5, -1)), ("tx", (-1, 0))):
            self.assertEqual(self.init(name, producer).error_code, ErrorCode.INVALID_REQUEST)
        self.assertEqual(list(self.broker.transactions.all()), [])

    def test_timeout(self) -> None:
        """A time-out of 0, or above the maximum, is refused, and the log names both settings."""
        most = self.broker.transactions.max_timeout_ms
        for timeout_ms in (0, -1, most + 1):
            with capturedLogs() as events:
                refused = self.init(timeout_ms=timeout_ms)
            self.assertEqual(refused.error_code, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
            (line,) = [event for event in events if event["log_level"] == LogLevel.warn]
            self.assertEqual((line["asked"], line["most"]), (timeout_ms, most))
            self.assertIn("transaction.max.timeout.ms", line["log_format"])
        self.assertEqual(self.init(timeout_ms=most).error_code, 0)

    def test_memory(self) -> None:
        """A new id is refused where all ids together would take more memory than is allowed."""
        self.producer()
        self.broker.transactions._max_bytes = self.broker.transactions.used_bytes + 100
        self.assertEqual(self.init("other").error_code, ErrorCode.POLICY_VIOLATION)
        self.assertEqual(self.init().error_code, 0)
        self.assertEqual([one.transactional_id for one in self.broker.transactions.all()], ["tx"])

    def test_rollover(self) -> None:
        """After the last epoch comes a new producer id."""
        old = self.producer()
        while self.transaction().metadata.producer_epoch < 3:
            self.init()
        self.patch_epoch(32766)
        new = self.producer()
        self.assertEqual(new[1], 0)
        self.assertNotEqual(new[0], old[0])

    def patch_epoch(self, epoch: int) -> None:
        """Set the epoch, as after very many producers."""
        import attrs

        transaction = self.transaction()
        transaction.metadata = attrs.evolve(transaction.metadata, producer_epoch=epoch)
