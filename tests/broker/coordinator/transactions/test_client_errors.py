"""The errors of transactions, by version."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions.client_errors import commit_error, known_error, produce_error
from kafkatx.errors import ErrorCode

FENCED, OLD_EPOCH = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
ABORTABLE, INVALID = ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE
CONCURRENT, AGAIN = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS
LOADING, MAPPING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.INVALID_PRODUCER_ID_MAPPING


class ErrorsTests(SynchronousTestCase):
    def test_fenced(self) -> None:
        """A fenced producer is told so from version 2 on, of InitProducerId from 4 on."""
        self.assertEqual([known_error(FENCED, version) for version in (1, 2)], [OLD_EPOCH, FENCED])
        self.assertEqual([known_error(FENCED, version, 4) for version in (3, 4)], [OLD_EPOCH, FENCED])
        self.assertEqual(known_error(MAPPING, 0), MAPPING)

    def test_produce(self) -> None:
        """Produce never has PRODUCER_FENCED; one that cannot be verified is to be repeated."""
        for error, told in (
            (FENCED, (OLD_EPOCH,) * 3),
            (ABORTABLE, (INVALID, ABORTABLE, ABORTABLE)),
            (CONCURRENT, (AGAIN, AGAIN, CONCURRENT)),
            (ErrorCode.NOT_COORDINATOR, (AGAIN,) * 3),
            (ErrorCode.NETWORK_EXCEPTION, (AGAIN,) * 3),
            (LOADING, (AGAIN,) * 3),
            (MAPPING, (MAPPING,) * 3),
        ):
            self.assertEqual(tuple(produce_error(error, version) for version in (10, 11, 12)), told)

    def test_commit(self) -> None:
        """TxnOffsetCommit never sends its client to another group coordinator for that."""
        for error, told in (
            (FENCED, (OLD_EPOCH,) * 3),
            (ABORTABLE, (INVALID, ABORTABLE, ABORTABLE)),
            (CONCURRENT, (LOADING, LOADING, CONCURRENT)),
            (ErrorCode.NOT_COORDINATOR, (LOADING,) * 3),
            (ErrorCode.COORDINATOR_NOT_AVAILABLE, (LOADING,) * 3),
            (MAPPING, (MAPPING,) * 3),
        ):
            self.assertEqual(tuple(commit_error(error, version) for version in (3, 4, 5)), told)
