"""The offsets that a reset leads to: within the log of each partition, as its leader tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from kafkatx.broker.console.api.bodies import LOWEST, Fields
from kafkatx.broker.console.api.topics.partitions import by_leader
from kafkatx.broker.console.errors import invalid, of_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.web.calls import Call
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

CONSUMER = -1
LATEST, EARLIEST = -1, -2
LATEST_MS = 2**53

Ends = Mapping[TopicPartition, int]


@attrs.frozen
class Target:
    """The aim of a reset.

    :ivar kind: earliest, latest, timeMs, offset or shift.
    """

    kind: str
    value: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind in ("earliest", "latest") else f"{self.kind} {self.value}"


def read_target(value: object) -> Target:
    """Return the target that a field ``to`` tells.

    :raises ConsoleError: it tells none.
    """
    if value in ("earliest", "latest"):
        return Target(str(value))
    if isinstance(value, dict) and len(value) == 1:
        fields, (kind,) = Fields(value, "to."), value
        if kind == "timeMs":
            return Target(kind, fields.whole(kind, None, 0, LATEST_MS))
        if kind in ("offset", "shift"):
            return Target(kind, fields.whole(kind, None, 0 if kind == "offset" else LOWEST))
    raise invalid('to: give "earliest", "latest", {"timeMs": n}, {"offset": n} or {"shift": n}')


class Targets:
    """Finds offsets, as a user who may describe the topics."""

    def __init__(self, parts: ConsoleParts, call: Call) -> None:
        self._parts = parts
        self._call = call

    async def find(
        self, names: Sequence[TopicPartition], target: Target, current: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Return the offset of each partition.

        :param current: the committed offsets; without one a shift begins at the start of the log.
        :raises ConsoleError: a partition has no leader, or the user may not describe its topic.
        """
        starts = await self._offsets(names, EARLIEST)
        if target.kind == "earliest":
            return starts
        ends = await self._offsets(names, LATEST)
        if target.kind == "latest":
            return ends
        if target.kind == "timeMs":
            found = await self._offsets(names, target.value)
            return {name: ends[name] if offset < 0 else offset for name, offset in found.items()}
        wanted = {
            name: target.value if target.kind == "offset" else current.get(name, starts[name]) + target.value
            for name in names
        }
        return {name: min(max(offset, starts[name]), ends[name]) for name, offset in wanted.items()}

    async def _offsets(self, names: Sequence[TopicPartition], timestamp: int) -> Ends:
        """Return the offsets for a timestamp."""
        found: dict[TopicPartition, int] = {}
        topics: dict[str, list[int]] = {}
        for topic, number in names:
            topics.setdefault(topic, []).append(number)
        asked: dict[int, tuple[BrokerNode, list[ListOffsetsTopic]]] = {}
        for topic, numbers in topics.items():
            state = self._parts.broker.metadata.state.topics.get(topic)
            if state is None:
                raise of_code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None, f"topic {topic}")
            for node, some in by_leader(
                self._parts, state, [n for n in numbers if n < len(state.partitions)]
            ):
                partitions = [ListOffsetsPartition(number, timestamp=timestamp) for number in some]
                asked.setdefault(node.id, (node, []))[1].append(ListOffsetsTopic(topic, partitions))
        for node, some_topics in asked.values():
            request = ListOffsetsRequest(CONSUMER, 0, some_topics)
            for answered in (await self._parts.kafka.ask(self._call, request, node)).topics:
                for one in answered.partitions:
                    name = TopicPartition(answered.name, one.partition_index)
                    if one.error_code:
                        raise of_code(one.error_code, None, f"offsets of {name}")
                    found[name] = one.offset
        for name in names:
            if name not in found:
                raise of_code(ErrorCode.LEADER_NOT_AVAILABLE, None, f"partition {name} has no leader")
        return found
