"""The actions of a member's state machine; its driver performs them in order."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.schema import Message

NEVER_MS = 2**63 - 1
"""The deadline of a machine that waits for nothing."""


class AssignmentChange(enum.Enum):
    """The changes of a member's assignment."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


class SendRequest(NamedTuple):
    """Send a request to the group's coordinator; then call ``response_received`` or ``request_failed``."""

    token: int
    request: Message
    timeout_ms: int
    """0: ``request.timeout.ms``."""
    separate_connection: bool = False
    """True if another request may be waiting at the coordinator: use another connection, with a short
    timeout."""


class ForgetCoordinator(NamedTuple):
    """Find the coordinator anew before the next request."""


class RequestPartitionCounts(NamedTuple):
    """Get the current partition counts of these topics; then call ``partition_counts_received``."""

    token: int
    topics: frozenset[str]


class WatchTopics(NamedTuple):
    """Call ``metadata_changed`` when the metadata of these topics changes."""

    topics: frozenset[str]


class NotifyApplication(NamedTuple):
    """Tell the application of a changed assignment; call ``application_notified`` when it is done."""

    change: AssignmentChange
    partitions: frozenset[TopicPartition]


class LeaveCompleted(NamedTuple):
    """The leave that ``unsubscribe`` or ``close`` has started is complete."""


class ReportFailure(NamedTuple):
    """The membership has failed for good: tell the application why."""

    error: KafkaTXError


class LogMessage(NamedTuple):
    """Write a line to the log."""

    format: str
    """A format of ``twisted.logger``, with ``{group}`` and ``{member}`` besides *values*."""
    values: Mapping[str, object]
    warn: bool = False


Action: TypeAlias = (
    SendRequest
    | ForgetCoordinator
    | RequestPartitionCounts
    | WatchTopics
    | NotifyApplication
    | LeaveCompleted
    | ReportFailure
    | LogMessage
)
