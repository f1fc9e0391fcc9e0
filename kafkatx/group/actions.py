"""The interface between groups and the broker: the methods of a group, and the actions that they return.

A group is a state machine without I/O. Its methods take a request and the time, and return a list of actions.
The caller performs them in order and at once, before it calls the group again:

*   :class:`Answer`: send a response to the request that came with ``token``, perhaps in an earlier call. A
    token is any object of the caller's, and is answered exactly once.
*   :class:`LogLine`: write a line to the broker's log.
*   :class:`Store`: append records to the group's partition of ``__consumer_offsets``, then call
    ``group.stored(error, now_ms)`` and perform the actions that it returns.
*   :class:`Replace`: put another group in the place of this one (KIP-848: a group changes its protocol). The
    actions that follow in the list are the new group's: its ``stored`` is called for its Store.

Time is ``now_ms``, in milliseconds of a monotonic clock. A group never reads a clock: the caller reads
``deadline_ms`` after each call, and calls ``advance(now_ms)`` at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from kafkatx.errors import ErrorCode

if TYPE_CHECKING:  # the messages of an API are imported with its first request
    from kafkatx.wire.messages.describe_groups import DescribedGroup
    from kafkatx.wire.messages.heartbeat import HeartbeatRequest
    from kafkatx.wire.messages.join_group import JoinGroupRequest
    from kafkatx.wire.messages.leave_group import LeaveGroupRequest
    from kafkatx.wire.messages.sync_group import SyncGroupRequest

NEVER_MS = 2**63 - 1
"""The deadline of a group that waits for nothing."""


class Record(NamedTuple):
    """A record of ``__consumer_offsets``: ``value`` None is a tombstone."""

    key: bytes
    value: bytes | None


class Answer(NamedTuple):
    """Send a response (of :mod:`kafkatx.wire.messages`) to the request of *token*."""

    token: Any
    response: Any


class Store(NamedTuple):
    """Append records, then call ``group.stored`` with the result."""

    records: Sequence[Record]


class LogLine(NamedTuple):
    """Write a line to the broker's log about a change of the group; there is none per heartbeat."""

    text: str
    """A format of ``twisted.logger``; ``{group}`` is the group's id."""
    values: Mapping[str, object]
    """The format's other values. Strings may come from a peer: they are quoted and shortened when written."""
    warn: bool = False
    """True for a client's fault, False for a normal event."""


class Replace(NamedTuple):
    """Put *group* in the place of the group that returned this action; both have the same id."""

    group: Group


Action: TypeAlias = Answer | Store | LogLine | Replace


class Group(Protocol):
    """A group of either protocol, as the broker uses it."""

    group_id: str

    @property
    def kind(self) -> str:
        """``classic`` or ``consumer``: the group type of ListGroups v5."""

    @property
    def state(self) -> str:
        """Name of the state in DescribeGroups and ListGroups: ``Stable``, ``PreparingRebalance``, ..."""

    @property
    def protocol_type(self) -> str:
        """``consumer``, ``connect``, ...; empty for a group that never had a member."""

    @property
    def has_members(self) -> bool:
        """True if there are members. A group without members may be deleted, and its offsets may expire."""

    @property
    def member_count(self) -> int:
        """The number of members."""

    @property
    def empty_since_ms(self) -> int:
        """Time when the last member left, on the wall clock; -1 if there are members, or never was one."""

    @property
    def deadline_ms(self) -> int:
        """Time of the next call of :meth:`advance`; NEVER_MS: none before the next request."""

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the members, with their metadata and pending member ids."""

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """Return a member's part of :attr:`held_bytes`; 0 if there is no such member."""

    def advance(self, now_ms: int) -> list[Action]:
        """Remove members whose sessions have ended, and end phases whose time is over."""

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """Continue after the oldest unfinished :class:`Store`; *error* is NONE, or the reason why it failed.

        With ``flush.messages``, requests may come between a Store and this call.
        """

    def loaded(self, now_ms: int) -> list[Action]:
        """Start the sessions of the members after all records of the group were replayed."""

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """Serve a JoinGroup."""

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a SyncGroup."""

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a Heartbeat."""

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a LeaveGroup."""

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Return the error of an offset commit; NONE if it is allowed.

        In a classic group an allowed commit restarts the member's session.

        :param generation: the generation, or the member epoch.
        :param version: the version of OffsetCommit.
        """

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Return the error of an offset fetch (OffsetFetch from version 9 on); NONE if it is allowed."""

    def subscribes(self, topic: str) -> bool:
        """Return True if a member may be consuming the topic: its offsets must not be deleted or expire."""

    def describe(self) -> DescribedGroup:
        """Return the group for DescribeGroups, without authorized operations."""

    def tombstones(self) -> list[Record]:
        """Return the records that remove the group, not its offsets, from ``__consumer_offsets``."""


MayDescribe: TypeAlias = Callable[[str], bool]
"""Returns True if a client may describe the topic of a name."""


class Client(NamedTuple):
    """The client that sent a request, as shown in DescribeGroups."""

    client_id: str
    host: str
    """``/`` and the address, as Apache Kafka writes it: ``/127.0.0.1``."""
    may_describe: MayDescribe | None = None
    """Its rights on topics; None: it may describe all, because there is no authorizer."""
