"""Requests that elect leaders and reassign partitions, and the values of their replies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkatx.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

PREFERRED, UNCLEAN = 0, 1


@attrs.frozen
class Outcome:
    """The result for one partition.

    :ivar error: NONE if it was done.
    :ivar message: the broker's reason, if it gave one.
    """

    error: ErrorCode
    message: str | None = None


@attrs.frozen
class Reassignment:
    """A reassignment in progress.

    :ivar replicas: all replicas now: the old and the new ones.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas at its end."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


def elect_request(
    kind: int, partitions: Iterable[TopicPartition] | None, timeout_ms: int
) -> ElectLeadersRequest:
    """Return a request that elects leaders.

    :param kind: PREFERRED or UNCLEAN.
    :param partitions: None for all partitions that need it.
    """
    asked = None
    if partitions is not None:
        asked = [TopicPartitions(topic, numbers) for topic, numbers in _by_topic(partitions).items()]
    return ElectLeadersRequest(kind, asked, timeout_ms)


def elected(response: ElectLeadersResponse) -> dict[TopicPartition, Outcome]:
    """Return the outcome for each partition.

    :raises RequestError: the whole request was refused, as NOT_CONTROLLER.
    """
    check(response.error_code, "the election")
    return {
        TopicPartition(topic.topic, one.partition_id): Outcome(
            ErrorCode.of(one.error_code), one.error_message
        )
        for topic in response.replica_election_results
        for one in topic.partition_result
    }


def reassign_request(
    wanted: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int
) -> AlterPartitionReassignmentsRequest:
    """Return a request that reassigns partitions; None cancels the reassignment of one."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for name, replicas in wanted.items():
        asked = ReassignablePartition(name.partition, None if replicas is None else list(replicas))
        topics.setdefault(name.topic, []).append(asked)
    asked_topics = [ReassignableTopic(topic, partitions) for topic, partitions in topics.items()]
    return AlterPartitionReassignmentsRequest(timeout_ms, asked_topics)


def reassigned(response: AlterPartitionReassignmentsResponse) -> dict[TopicPartition, Outcome]:
    """Return the outcome for each partition.

    :raises RequestError: the whole request was refused, as NOT_CONTROLLER.
    """
    check(response.error_code, response.error_message or "the reassignment")
    return {
        TopicPartition(topic.name, one.partition_index): Outcome(
            ErrorCode.of(one.error_code), one.error_message
        )
        for topic in response.responses
        for one in topic.partitions
    }


def list_request(timeout_ms: int) -> ListPartitionReassignmentsRequest:
    """Return a request for all reassignments in progress."""
    return ListPartitionReassignmentsRequest(timeout_ms, None)


def in_progress(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, Reassignment]:
    """Return the reassignments in progress.

    :raises RequestError: the request was refused, as NOT_CONTROLLER.
    """
    check(response.error_code, response.error_message or "the list of reassignments")
    return {
        TopicPartition(topic.name, one.partition_index): Reassignment(
            tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
        )
        for topic in response.topics
        for one in topic.partitions
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found
