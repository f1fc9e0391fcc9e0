"""The exceptions of transactions, and which errors end a producer."""

from __future__ import annotations

from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError

_FENCED = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
_FATAL = _FENCED | {
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
}
_FATAL_TO_PRODUCE = _FATAL - {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE}
"""A leader's answer may only mean that the transaction was ended: the coordinator knows (KIP-360)."""


class TransactionMisuse(KafkaTXError):
    """A call is not possible in the producer's present state: a record outside a transaction, for example."""


class AbortRequired(KafkaTXError):
    """The transaction cannot be committed, because a part of it has failed: ``abort()`` it.

    :ivar first: the first error; also the ``__cause__``.
    """

    def __init__(self, transactional_id: str, first: BaseException) -> None:
        super().__init__(
            f"the transaction of {transactional_id!r} cannot be committed, call abort(): {first}"
        )
        self.first = first
        self.__cause__ = first


class TransactionsEnded(RequestError):
    """The producer can have no more transactions: close it, and make another."""

    def __init__(self, transactional_id: str, error: RequestError) -> None:
        super().__init__(
            error.code, f"the producer {transactional_id!r} can have no more transactions, close it: {error}"
        )
        self.__cause__ = error


class ProducerFenced(TransactionsEnded):
    """The coordinator has given the transactional id to another producer, or has ended the transaction."""

    def __init__(self, transactional_id: str, error: RequestError) -> None:
        super().__init__(transactional_id, error)
        self.args = (
            f"the producer {transactional_id!r} was fenced: another one with this transactional.id has"
            " started, or its transaction took longer than transaction.timeout.ms and was aborted;"
            f" close it ({error.code.name})",
        )


def fatal_error(transactional_id: str, error: BaseException) -> TransactionsEnded | None:
    """Return the error of all later calls if *error* ends the producer; None: the transaction can be aborted.

    :param error: of a batch (:class:`ProduceFailed`) or of a coordinator.
    """
    if isinstance(error, TransactionsEnded):
        return error
    if not isinstance(error, RequestError):
        return None
    if error.code not in (_FATAL_TO_PRODUCE if isinstance(error, ProduceFailed) else _FATAL):
        return None
    made = ProducerFenced if error.code in _FENCED else TransactionsEnded
    return made(transactional_id, error)
