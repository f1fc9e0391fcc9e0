"""Paths and contents of the nodes of a consumer group in ZooKeeper, as Kafka 0.8 has them. Pure: no I/O.

==================================  =========  =====================================================
``/consumers/G/ids/<member id>``    ephemeral  ``{"version":1,"subscription":{"T":2},
                                               "pattern":"static","timestamp":"<ms>"}``
``/consumers/G/owners/T/P``         ephemeral  ``<member id>-<number of the stream>``
``/consumers/G/offsets/T/P``        kept       the offset of the next record, in digits
==================================  =========  =====================================================

The pattern of a filter is ``white_list`` or ``black_list``, and its subscription has the expression as its
only key. (Source: ``ZookeeperConsumerConnector.scala`` and ``TopicCount.scala`` of Kafka 0.8.2.)

Kafka 0.7 names partitions ``<broker id>-<number>``, and its members' contents are the subscription alone, or
``*<streams>*<expression>`` and ``!<streams>!<expression>`` for filters. They are only read.
"""

from __future__ import annotations

import re

import attrs

from kafkatx.clientcore.legacy.topic_filter import Blacklist, Subscription, TopicFilter, Whitelist
from kafkatx.errors import KafkaTXError
from kafkatx.metadata.layout.fields import (
    INT64_MAX,
    Fields,
    UnreadableNode,
    encode,
    natural,
    parse,
    quoted_bytes,
)
from kafkatx.types import TopicPartition

VERSION = 1
STATIC = "static"
_FILTERS: dict[str, type[TopicFilter]] = {"white_list": Whitelist, "black_list": Blacklist}
_FILTER_0_7 = re.compile(r"([*!])([1-9][0-9]{0,8})\1(.+)", re.DOTALL)
_PARTITION_0_7 = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")


@attrs.frozen
class GroupPaths:
    """The paths of one group's nodes.

    :ivar group: the group's name.
    """

    group: str

    def __attrs_post_init__(self) -> None:
        """Check that the name can be part of a path.

        :raises KafkaTXError: it cannot.
        """
        if not self.group or self.group in (".", "..") or "/" in self.group or "\0" in self.group:
            raise KafkaTXError(f"group.id={self.group!r}: it cannot be the name of a node in ZooKeeper")

    @property
    def root(self) -> str:
        """The node of the group."""
        return f"/consumers/{self.group}"

    @property
    def ids(self) -> str:
        """The parent of the members."""
        return f"{self.root}/ids"

    def member(self, member_id: str) -> str:
        """Return the node of a member."""
        return f"{self.ids}/{member_id}"

    def owners(self, topic: str) -> str:
        """Return the parent of a topic's owners."""
        return f"{self.root}/owners/{topic}"

    def owner(self, at: TopicPartition) -> str:
        """Return the node that says which stream owns a partition."""
        return f"{self.owners(at.topic)}/{at.partition}"

    def offsets(self, topic: str) -> str:
        """Return the parent of a topic's offsets."""
        return f"{self.root}/offsets/{topic}"

    def offset(self, at: TopicPartition) -> str:
        """Return the node of a partition's offset."""
        return f"{self.offsets(at.topic)}/{at.partition}"

    def parents(self, topics: tuple[str, ...] = ()) -> list[str]:
        """Return the persistent nodes that a member with these topics needs, parents first."""
        fixed = ["/consumers", self.root, self.ids, f"{self.root}/owners", f"{self.root}/offsets"]
        return fixed + [path for topic in topics for path in (self.owners(topic), self.offsets(topic))]


def member_id(group: str, host: str, now_ms: int, random_bits: int) -> str:
    """Return the id of a new member, ``G_host-<ms>-<8 hex digits>``.

    :param random_bits: a number whose lowest 32 bits make the id unique.
    """
    return f"{group}_{host}-{now_ms}-{random_bits & 0xFFFFFFFF:08x}"


def encode_subscription(subscription: Subscription, now_ms: int) -> bytes:
    """Return the content of a member's node."""
    pattern, streams = STATIC, dict(subscription.topics)
    if subscription.filter is not None:
        pattern = "black_list" if isinstance(subscription.filter, Blacklist) else "white_list"
        streams = {subscription.filter.expression: subscription.streams}
    return encode({"version": VERSION, "subscription": streams, "pattern": pattern, "timestamp": str(now_ms)})


def decode_subscription(path: str, data: bytes) -> Subscription:
    """Read the content of a member's node, in the form of Kafka 0.8 or of Kafka 0.7.

    :raises UnreadableNode: it has neither form, or an expression that Python cannot compile.
    """
    old = _FILTER_0_7.fullmatch(data.decode("utf-8", "replace").strip())
    try:
        if old is not None:
            kind = Whitelist if old[1] == "*" else Blacklist
            return Subscription(filter=kind(old[3]), streams=int(old[2]))
        fields = parse(path, data)
        if "version" not in fields.members:
            return Subscription(_streams(fields))
        fields.version(VERSION, VERSION)
        streams = _streams(fields.object("subscription"))
        pattern = fields.text("pattern")
        if pattern == STATIC:
            return Subscription(streams)
        if pattern not in _FILTERS or len(streams) != 1:
            raise fields.wrong("pattern", "static with topics, white_list or black_list with one expression")
        ((expression, count),) = streams.items()
        return Subscription(filter=_FILTERS[pattern](expression), streams=count)
    except UnreadableNode:
        raise
    except KafkaTXError as error:
        raise UnreadableNode(path, quoted_bytes(data), f"a subscription ({error})") from None


def _streams(fields: Fields) -> dict[str, int]:
    return {topic: fields.integer(topic) for topic in fields}


def encode_owner(member: str, stream: int) -> bytes:
    """Return the content of an owner's node."""
    return f"{member}-{stream}".encode()


def encode_offset(offset: int) -> bytes:
    """Return the content of an offset's node."""
    return b"%d" % offset


def decode_offset(path: str, data: bytes) -> int:
    """Read the content of an offset's node.

    :raises UnreadableNode: it is no number from 0 to 2**63 - 1.
    """
    found = natural(data.decode("utf-8", "replace"), INT64_MAX)
    if found is None:
        raise UnreadableNode(path, quoted_bytes(data), "an offset in digits")
    return found


def partition_0_7(name: str) -> tuple[int, int] | None:
    """Return broker id and number of a partition as Kafka 0.7 names it; None if it is no such name."""
    found = _PARTITION_0_7.fullmatch(name)
    return None if found is None else (int(found[1]), int(found[2]))
