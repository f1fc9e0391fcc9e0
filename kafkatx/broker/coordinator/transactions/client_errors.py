"""The errors of transactions as clients of each version know them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.errors import ErrorCode

FENCED_SINCE = 2
"""The version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that knows PRODUCER_FENCED."""

ABORTABLE_SINCE_PRODUCE, ADDS_SINCE_PRODUCE = 11, 12
ABORTABLE_SINCE_OFFSETS, ADDS_SINCE_OFFSETS = 4, 5
"""Versions of Produce and of TxnOffsetCommit that know TRANSACTION_ABORTABLE, and that add partitions."""

_RETRIED = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_TO_PRODUCERS: Mapping[ErrorCode, ErrorCode] = {
    **dict.fromkeys(_RETRIED, ErrorCode.NOT_ENOUGH_REPLICAS),
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
}
_TO_COMMITTERS: Mapping[ErrorCode, ErrorCode] = {
    **dict.fromkeys(_RETRIED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
}


def known_error(error: ErrorCode, version: int, fenced_since: int = FENCED_SINCE) -> ErrorCode:
    """Return an error of the coordinator as a version of its requests knows it."""
    old = version < fenced_since and error == ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if old else error


def produce_error(error: ErrorCode, version: int) -> ErrorCode:
    """Return a verification's error for a version of Produce.

    A producer must not look for another leader when only the coordinator cannot be asked: it is told
    NOT_ENOUGH_REPLICAS, and tries again (``ReplicaManager.appendRecordsWithTransactionVerification``).
    """
    if error == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE_PRODUCE:
        return ErrorCode.INVALID_TXN_STATE
    if error == ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_SINCE_PRODUCE:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return _TO_PRODUCERS.get(error, error)


def commit_error(error: ErrorCode, version: int) -> ErrorCode:
    """Return a verification's error for a version of TxnOffsetCommit.

    A client must not look for another group coordinator when only the transaction's cannot be asked.
    """
    if error == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE_OFFSETS:
        return ErrorCode.INVALID_TXN_STATE
    if error == ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_SINCE_OFFSETS:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return _TO_COMMITTERS.get(error, error)
