"""Interfaces of the results of appends to a partition's log, and what an append may be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zope.interface import Attribute, Interface

NEEDS_VALIDATION = -2
"""The ``error`` of an append whose records must be validated in a worker first."""

TRUSTED = object()
"""Passed as ``validated``: the records are the broker's own and are not validated."""

DEFER_VALIDATION = object()
"""Passed as ``validated``: validate nothing at once, not even small batches; the request has more of them."""


class IAppended(Interface):
    """The result of one call of :meth:`IPartitionLog.append`.

    If ``error`` is :data:`NEEDS_VALIDATION` nothing was staged and the result provides
    :class:`INeedsValidation`.
    """

    error: int = Attribute("0, or the protocol's error code; then nothing was staged.")
    message: str | None = Attribute("The reason of the error, for people.")
    base_offset: int = Attribute("Offset of the first record; for a duplicate the original's; -1 on error.")
    last_offset: int = Attribute("Offset of the last record, inclusive; -1 on error.")
    log_append_time_ms: int = Attribute("The broker's time if the topic has LogAppendTime, else -1.")
    record_errors: Sequence[tuple[int, str]] = Attribute(
        "(index in the batch, message) of the records at fault, if known."
    )


class INeedsValidation(IAppended):
    """The result of an append with the error :data:`NEEDS_VALIDATION`.

    Call ``validate`` in a worker and pass its result to a second append.
    """

    validate: Callable[[], object] = Attribute("Validates the records; blocks, so it is called in a worker.")
