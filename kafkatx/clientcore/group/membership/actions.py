"""What the machine of a member wants done; whoever drives it does these in order."""

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
    """What becomes of partitions, as the application is told of it."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


class SendRequest(NamedTuple):
    """Send a request to the group's coordinator; ``answered`` or ``failed`` wants to know what came of it."""

    token: int
    request: Message
    timeout_ms: int
    """0: as long as requests may take."""
    separate_connection: bool = False
    """Another request may wait at the coordinator for long: send this one elsewhere, and give up soon."""


class ForgetCoordinator(NamedTuple):
    """Whoever is known as the coordinator is it no longer, or cannot be reached."""


class RequestPartitionCounts(NamedTuple):
    """Find out anew how many partitions each of these topics has; ``looked`` wants to know."""

    token: int
    topics: frozenset[str]


class WatchTopics(NamedTuple):
    """Keep an eye on these topics: ``metadata`` wants to know of changes."""

    topics: frozenset[str]


class NotifyApplication(NamedTuple):
    """Tell the application what becomes of partitions; ``called`` wants to know when it is done with that."""

    change: AssignmentChange
    partitions: frozenset[TopicPartition]


class LeaveCompleted(NamedTuple):
    """What :meth:`leave` or :meth:`close` began is done."""


class ReportFailure(NamedTuple):
    """The member is closed, for good: tell the application why."""

    error: KafkaTXError


class LogMessage(NamedTuple):
    """Write a line into the log."""

    format: str
    """A format of ``twisted.logger``; ``{group}`` and ``{member}`` are known to it."""
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
