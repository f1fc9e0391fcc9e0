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


class Change(enum.Enum):
    """What becomes of partitions, as the application is told of it."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


class Ask(NamedTuple):
    """Send a request to the group's coordinator; ``answered`` or ``failed`` wants to know what came of it."""

    token: int
    request: Message
    timeout_ms: int
    """0: as long as requests may take."""
    aside: bool = False
    """Another request may wait at the coordinator for long: send this one elsewhere, and give up soon."""


class Forget(NamedTuple):
    """Whoever is known as the coordinator is it no longer, or cannot be reached."""


class Look(NamedTuple):
    """Find out anew how many partitions each of these topics has; ``looked`` wants to know."""

    token: int
    topics: frozenset[str]


class Watch(NamedTuple):
    """Keep an eye on these topics: ``metadata`` wants to know of changes."""

    topics: frozenset[str]


class Call(NamedTuple):
    """Tell the application what becomes of partitions; ``called`` wants to know when it is done with that."""

    change: Change
    partitions: frozenset[TopicPartition]


class Left(NamedTuple):
    """What :meth:`leave` or :meth:`close` began is done."""


class Fail(NamedTuple):
    """The member is closed, for good: tell the application why."""

    error: KafkaTXError


class Tell(NamedTuple):
    """Write a line into the log."""

    text: str
    """A format of ``twisted.logger``; ``{group}`` and ``{member}`` are known to it."""
    values: Mapping[str, object]
    warn: bool = False


Action: TypeAlias = Ask | Forget | Look | Watch | Call | Left | Fail | Tell
