"""The partitions of a topic, and their producers, wherever the leaders are."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.broker.console.api.lists import Listing
from kafkatx.broker.console.cluster.turns import Turns
from kafkatx.broker.console.errors import check_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.types import NO_LEADER, BrokerNode, PartitionState, Topic, TopicPartition
from kafkatx.web.calls import Call
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest

MOST_PARTITIONS = 2000
"""Partitions whose producers are asked for."""

PRODUCERS = Listing.of_items(
    "producerId",
    "partition",
    "producerEpoch",
    "lastSequence",
    "lastTimestampMs",
)


async def describe_partitions(parts: ConsoleParts, topic: Topic) -> list[dict[str, object]]:
    """Return the partitions of a topic."""
    names = [TopicPartition(topic.name, number) for number in range(len(topic.partitions))]
    await parts.cluster.ends.refresh(names)
    turns, found = Turns(parts.broker.clock), []
    for number, state in enumerate(topic.partitions):
        found.append(_partition(parts, topic.name, number, state))
        await turns.step(5)
    return found


def _partition(parts: ConsoleParts, topic: str, number: int, state: PartitionState) -> dict[str, object]:
    cluster, ends = parts.broker.metadata.state, parts.cluster.ends.find(topic, number)
    name = TopicPartition(topic, number)
    return {
        "partition": number,
        "leader": None if state.leader == NO_LEADER else state.leader,
        "leaderEpoch": state.leader_epoch,
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "offline": [each for each in state.replicas if not cluster.has_live(each, name)],
        "startOffset": None if ends is None else str(ends.start),
        "endOffset": None if ends is None else str(ends.end),
        "stableOffset": None if ends is None else str(ends.stable),
        "sizeBytes": None if ends is None else str(ends.size_bytes),
    }


def by_leader(parts: ConsoleParts, topic: Topic, numbers: list[int]) -> list[tuple[BrokerNode, list[int]]]:
    """Return partitions by their leaders, without those that have none."""
    brokers: Mapping[int, BrokerNode] = parts.broker.metadata.state.brokers
    found: dict[int, list[int]] = {}
    for number in numbers:
        found.setdefault(topic.partitions[number].leader, []).append(number)
    return [(brokers[leader], some) for leader, some in found.items() if leader in brokers]


async def producers(parts: ConsoleParts, call: Call, topic: Topic) -> object:
    """Return a page of the producers of a topic.

    :raises ConsoleError: the user may not read the topic.
    """
    numbers, items = list(range(min(len(topic.partitions), MOST_PARTITIONS))), []
    for node, some in by_leader(parts, topic, numbers):
        try:
            asked = DescribeProducersRequest([TopicRequest(topic.name, some)])
            response = await parts.kafka.ask(call, asked, node)
        except RequestError:
            raise
        except KafkaTXError:
            continue  # the other broker does not answer: its partitions are not known now
        for described in response.topics:
            for partition in described.partitions:
                if partition.error_code in (29, 31):
                    check_code(partition.error_code, partition.error_message, f"producers of {topic.name}")
                items += [
                    {
                        "partition": partition.partition_index,
                        "producerId": str(one.producer_id),
                        "producerEpoch": one.producer_epoch,
                        "lastSequence": one.last_sequence,
                        "lastTimestampMs": None if one.last_timestamp < 0 else one.last_timestamp,
                        "transactionStartOffset": (
                            None if one.current_txn_start_offset < 0 else str(one.current_txn_start_offset)
                        ),
                    }
                    for one in partition.active_producers
                ]
    return PRODUCERS.page(call, items)
