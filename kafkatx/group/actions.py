"""What the machines of groups want done, and what both kinds of group promise to the broker.

A machine is called with a request and the time, and returns a list of actions. The caller performs them in
order, at once, before the machine is called again:

*   :class:`Answer`: give a response to whoever sent the request that came with ``token``; it may have been
    waiting since an earlier call. A token is whatever the caller passed, and is answered exactly once.
*   :class:`LogLine`: write a line into the broker's log.
*   :class:`Store`: append records to the group's partition of ``__consumer_offsets``, then call
    ``group.stored(error, now_ms)`` and perform what that returns.
*   :class:`Replace`: another group stands in the place of this one from now on (KIP-848: a group changes its
    protocol). What follows in the list is the new group's: its ``stored`` is called for its Store.

Time is ``now_ms``, milliseconds that never go back. A machine never looks at a clock: the caller asks for
``deadline_ms`` after each call, and calls ``advance(now_ms)`` when it has come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from kafkatx.errors import ErrorCode

NEVER_MS = 2**63 - 1
"""The deadline of a machine that waits for nothing."""


class Record(NamedTuple):
    """A record of ``__consumer_offsets``: ``value`` None is a tombstone."""

    key: bytes
    value: bytes | None


class Answer(NamedTuple):
    """Give a response (a message of :mod:`kafkatx.wire.messages`) to the request of *token*."""

    token: Any
    response: Any


class Store(NamedTuple):
    """Append records; ``group.stored`` wants to know how that went."""

    records: Sequence[Record]


class LogLine(NamedTuple):
    """Write a line into the broker's log: what became of the group and why, never per heartbeat."""

    text: str
    """A format of ``twisted.logger``; ``{group}`` is the group's id."""
    values: Mapping[str, object]
    """What else the format names; strings may be a peer's, and are quoted and cut when they are written."""
    warn: bool = False
    """A peer's fault; else it is life going on."""


class Replace(NamedTuple):
    """Let *group* stand where the group that gave this action stood; they have the same id."""

    group: Group


Action: TypeAlias = Answer | Store | LogLine | Replace


class Group(Protocol):
    """What the broker asks of a group, of whichever protocol."""

    group_id: str

    @property
    def kind(self) -> str:
        """``classic`` or ``consumer``: the group type of ListGroups v5."""

    @property
    def state(self) -> str:
        """As DescribeGroups and ListGroups tell it: ``Stable``, ``PreparingRebalance``, ..."""

    @property
    def protocol_type(self) -> str:
        """``consumer``, ``connect``, ...; empty for a group that never had a member."""

    @property
    def has_members(self) -> bool:
        """Whether there are members; a group without may be deleted, and its offsets may expire."""

    @property
    def empty_since_ms(self) -> int:
        """When it lost its last member, on the wall clock; -1: it has members, or never had one."""

    @property
    def deadline_ms(self) -> int:
        """When :meth:`advance` must be called; NEVER_MS: not before the next request."""

    @property
    def held_bytes(self) -> int:
        """About how much memory its members take, with what they sent and ids that were given out."""

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """How much of :attr:`held_bytes` is a member's: 0 where there is no such member."""

    def advance(self, now_ms: int) -> list[Action]:
        """Time has passed: remove members that went silent, end what has waited long enough."""

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """The oldest :class:`Store` not told of yet was done; *error* is NONE, or why it could not be.

        Where the disk is waited for (``flush.messages``), requests may come between a Store and this.
        """

    def loaded(self, now_ms: int) -> list[Action]:
        """All records of the group were replayed: the sessions of its members begin."""

    def join(self, request: Any, version: int, client: Client, token: object, now_ms: int) -> list[Action]:
        """A JoinGroupRequest."""

    def sync(self, request: Any, version: int, token: object, now_ms: int) -> list[Action]:
        """A SyncGroupRequest."""

    def heartbeat(self, request: Any, version: int, token: object, now_ms: int) -> list[Action]:
        """A HeartbeatRequest."""

    def leave(self, request: Any, version: int, token: object, now_ms: int) -> list[Action]:
        """A LeaveGroupRequest."""

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Whether offsets may be committed so; NONE or the protocol's error. It counts as a sign of life.

        :param generation: of the classic protocol, or the member epoch.
        :param version: of OffsetCommit.
        """

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Whether a member may fetch offsets so (OffsetFetch from version 9 on)."""

    def subscribes(self, topic: str) -> bool:
        """Whether a member may be consuming the topic: its offsets must neither be deleted nor expire."""

    def describe(self) -> Any:
        """The ``DescribedGroup`` of DescribeGroups, without authorized operations."""

    def tombstones(self) -> list[Record]:
        """The records that take the group, not its offsets, out of ``__consumer_offsets``."""


class Client(NamedTuple):
    """Who a request came from, as DescribeGroups tells it."""

    client_id: str
    host: str
    """``/`` and the address, as Apache Kafka writes it: ``/127.0.0.1``."""
