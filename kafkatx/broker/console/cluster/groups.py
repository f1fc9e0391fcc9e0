"""All groups of the cluster: states, members, lag. It touches the clock, and asks other coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.log_ends import LogEnds, ask_patiently
from kafkatx.broker.console.cluster.turns import Kept, Turns, chunks
from kafkatx.broker.peers import Peers
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkatx.wire.schema import Message

KEPT_S = 2.0
CHUNK = 50
"""Groups in one request to another broker."""

CLASSIC, CONSUMER, EMPTY = "classic", "consumer", "Empty"

Offsets = dict[str, dict[int, int]]
"""Committed offsets by topic and partition."""


@attrs.define
class GroupFigures:
    """A group.

    :ivar offsets: its committed offsets.
    :ivar lags: the records that it is behind in each topic; None if nothing is known of the topic's ends.
    """

    id: str
    protocol: str
    state: str
    members: int
    coordinator: int
    offsets: Offsets = attrs.Factory(dict)
    lags: dict[str, int | None] = attrs.Factory(dict)

    @property
    def lag(self) -> int | None:
        """The records that it is behind; None if that is not known, or it has no offsets."""
        known = [lag for lag in self.lags.values() if lag is not None]
        return sum(known) if known else None


class ClusterGroups:
    """The groups of now, or of two seconds ago, by their ids."""

    _log = Logger()

    def __init__(self, broker: Broker, peers: Peers, ends: LogEnds) -> None:
        self._broker = broker
        self._peers = peers
        self._ends = ends
        self._kept: Kept[Mapping[str, GroupFigures]] = Kept(self._find, broker.clock, KEPT_S)
        self.get = self._kept.get

    async def _find(self) -> Mapping[str, GroupFigures]:
        groups = await self._own()
        state, node_id = self._broker.metadata.state, self._broker.node_id
        others = [
            Deferred.fromCoroutine(self._of_broker(node))
            for broker_id, node in state.brokers.items()
            if broker_id != node_id
        ]
        for found in await gatherResults(others):
            groups.update({each.id: each for each in found})
        await self._add_lags(groups)
        return groups

    async def _own(self) -> dict[str, GroupFigures]:
        """Return the groups that this broker coordinates."""
        turns, groups, node_id = Turns(self._broker.clock), {}, self._broker.node_id
        for shard in list(self._broker.groups.shards.values()):
            for group_id in {**shard.groups, **dict.fromkeys(shard.offsets.groups())}:
                group, offsets = shard.groups.get(group_id), shard.offsets.of(group_id)
                found = GroupFigures(group_id, CLASSIC, EMPTY, 0, node_id)
                if group is not None:
                    found.protocol, found.state = group.kind, group.state
                    found.members = group.member_count
                found.offsets = {
                    topic: {number: one.offset for number, one in partitions.items()}
                    for topic, partitions in offsets.items()
                }
                groups[group_id] = found
                await turns.step(1 + sum(map(len, offsets.values())))
        return groups

    async def _add_lags(self, groups: Mapping[str, GroupFigures]) -> None:
        turns = Turns(self._broker.clock)
        elsewhere: set[TopicPartition] = set()
        for group in groups.values():
            for topic, offsets in group.offsets.items():
                elsewhere.update(
                    TopicPartition(topic, number)
                    for number in offsets
                    if not self._ends.is_here(topic, number)
                )
                await turns.step(len(offsets))
        await self._ends.refresh(elsewhere)
        for group in groups.values():
            for topic, offsets in group.offsets.items():
                group.lags[topic] = self._lag(topic, offsets)
                await turns.step(len(offsets))

    def _lag(self, topic: str, offsets: Mapping[int, int]) -> int | None:
        lag = None
        for number, offset in offsets.items():
            ends = self._ends.find(topic, number)
            if ends is not None:
                lag = (lag or 0) + max(0, ends.end - max(offset, ends.start))
        return lag

    # --- other coordinators

    async def _ask(self, node: BrokerNode, message: Message) -> Any:
        return await ask_patiently(self._broker.clock, self._peers, node, message)

    async def _of_broker(self, node: BrokerNode) -> Iterable[GroupFigures]:
        """Return the groups of another coordinator; none if it does not answer."""
        try:
            listed = await self._ask(node, ListGroupsRequest())
            groups = {
                one.group_id: GroupFigures(
                    one.group_id, one.group_type or CLASSIC, one.group_state, 0, node.id
                )
                for one in listed.groups
            }
            for some in chunks(groups.values(), CHUNK):
                await self._describe(node, {one.id: one for one in some})
        except KafkaTXError as error:
            self._log.debug("broker {id} does not tell its groups: {error}", id=node.id, error=error)
            return []
        return groups.values()

    async def _describe(self, node: BrokerNode, groups: Mapping[str, GroupFigures]) -> None:
        for protocol in (CLASSIC, CONSUMER):
            names = [one.id for one in groups.values() if one.protocol == protocol and one.state != EMPTY]
            if names:
                request = (
                    DescribeGroupsRequest(names)
                    if protocol == CLASSIC
                    else ConsumerGroupDescribeRequest(names)
                )
                described = await self._ask(node, request)
                for one in described.groups:
                    groups[one.group_id].members = len(one.members)
        asked = [OffsetFetchRequestGroup(name, None, topics=None) for name in groups]
        fetched = await self._ask(node, OffsetFetchRequest(groups=asked))
        for one in fetched.groups:
            groups[one.group_id].offsets = {
                topic.name: {each.partition_index: each.committed_offset for each in topic.partitions}
                for topic in one.topics
            }
