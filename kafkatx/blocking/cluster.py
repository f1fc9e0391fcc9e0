"""The cluster as a client sees it: which brokers there are, which of them leads what, and connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kafkatx.blocking import list_offsets
from kafkatx.blocking.connection import Channel, Connection
from kafkatx.blocking.stalls import StallReporter
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address, format_address, parse_bootstrap
from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic, describe, retriable
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata, from_response
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

T = TypeVar("T")


class Cluster:
    """Metadata, leaders and shared connections; asked again on errors that may pass.

    The first contact is not retried: a bootstrap address that nobody answers at is an error at once.
    Not for several threads at once. A context manager.

    :param retries: how often a call is tried again, with pauses that double from *retry_backoff_ms* to 1 s.
    :param on_wait: called every few seconds while no broker answers, or one refuses for now, with a line
        that says so and for how long.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        client_id: str = "kafkatx",
        timeout_s: float = 30.0,
        connect_timeout_s: float = 10.0,
        retries: int = 12,
        retry_backoff_ms: int = 100,
        connect: Callable[[str, int], Channel] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self.backoff = Backoff(retries, retry_backoff_ms)
        self.clock = clock
        self.sleep = sleep
        self.on_wait = on_wait
        self._stall_reporter = StallReporter(on_wait, clock)
        self._bootstrap = parse_bootstrap(bootstrap)
        self._connect: Callable[[str, int], Channel] = connect or partial(
            Connection, client_id=client_id, timeout_s=timeout_s, connect_timeout_s=connect_timeout_s
        )
        self._connections: dict[Address, Channel] = {}
        self._metadata = ClusterMetadata()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the shared connections; those that readers and writers own are theirs to close."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # -- connections

    def any_broker(self) -> Channel:
        """A shared connection to a broker that answers: a known one, else one of the bootstrap servers.

        :raises ConnectionFailed: none answers.
        """
        known = [(node.host, node.port) for node in self._metadata.brokers.values()]
        failure: ConnectionFailed | None = None
        for address in dict.fromkeys([*known, *self._bootstrap]):
            try:
                return self._shared(address)
            except ConnectionFailed as error:
                # What the user typed is what the message should name, not an address that a broker gave.
                if failure is None or address in self._bootstrap:
                    failure = error
        assert failure is not None  # there is at least one bootstrap server
        raise failure

    def leader_connection(self, topic: str, partition: int) -> Channel:
        """The shared connection to a partition's leader.

        :raises RequestError: there is no such partition, or it has no leader now.
        """
        return self.connection_to(self.leader_node(topic, partition))

    def controller_connection(self) -> Channel:
        """The shared connection to the broker that creates and deletes topics."""
        node = self.brokers().get(self._metadata.controller_id)
        return self.connection_to(node) if node else self.any_broker()

    def brokers(self) -> Mapping[int, BrokerNode]:
        """Every broker by its id, asked for if none is known yet.

        After it, what fails in a way that may pass is tried again.
        """
        if not self._metadata.brokers:
            self._request_metadata([])
        return self._metadata.brokers

    def connection_to(self, node: BrokerNode) -> Channel:
        """The shared connection to this broker.

        :raises ConnectionFailed: it does not answer.
        """
        return self._shared((node.host, node.port))

    def leader_node(self, topic: str, partition: int) -> BrokerNode:
        """Where a partition's leader is reached; raises as :meth:`leader_connection`."""
        state = self._partition(topic, partition)
        node = self._metadata.brokers.get(state.leader)
        if node is None:
            raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic} [{partition}] has no leader now")
        return node

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The epoch of the leader that :meth:`leader_node` names; -1 if unknown."""
        return self._partition(topic, partition).leader_epoch

    def new_connection(self, node: BrokerNode) -> Channel:
        """A connection of the caller's own, opened and negotiated."""
        connection = self._connect(node.host, node.port)
        self._open(connection)
        return connection

    def _shared(self, address: Address) -> Channel:
        connection = self._connections.get(address)
        if connection is None or connection.closed:
            connection = self._connections[address] = self._connect(*address)
        self._open(connection)
        return connection

    def _open(self, connection: Channel) -> None:
        try:
            connection.open()
        except ConnectionFailed:
            self._stall_reporter.failed(f"no broker at {format_address((connection.host, connection.port))}")
            raise
        self._stall_reporter.recovered()

    # -- metadata

    def metadata(self, topics: Sequence[str] | None, allow_auto_create: bool = False) -> ClusterMetadata:
        """Ask a broker for the cluster and these topics; ``None`` asks for all of them.

        The reply is remembered. A topic that does not exist is in it with its ``error``.
        """
        return self.retrying(lambda: self._request_metadata(topics, allow_auto_create))

    def topic(self, name: str, allow_auto_create: bool = False) -> TopicMetadata:
        """One topic, from memory if it is known.

        :param allow_auto_create: let the broker create it, and wait until it has.
        :raises UnknownTopic: there is none of this name.
        :raises RequestError: something else is wrong with it, INVALID_TOPIC_EXCEPTION say.
        """
        known = self._metadata.topics.get(name)
        if known is not None and known.usable:
            return known
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for pause_s in self.backoff.pauses_s():
            known = self.metadata([name], allow_auto_create).topics.get(name)
            if known is not None and known.usable:
                return known
            if known is not None:
                error = known.error or ErrorCode.LEADER_NOT_AVAILABLE
            if not error.retriable:
                break
            if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not allow_auto_create:
                raise UnknownTopic(name)
            self.sleep(pause_s)
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UnknownTopic(name)
        raise RequestError(error, f"topic {name!r}: {describe(error)}")

    def partitions(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions, in order.

        :raises UnknownTopic: there is none of this name.
        """
        return list(self.topic(topic).partitions)

    def forget_metadata(self) -> None:
        """Ask again before the next use of any topic; which brokers there are stays known."""
        self._metadata = ClusterMetadata(
            self._metadata.brokers, self._metadata.controller_id, self._metadata.cluster_id
        )

    def _request_metadata(
        self, topics: Sequence[str] | None, allow_auto_create: bool = False
    ) -> ClusterMetadata:
        connection = self.any_broker()
        version = connection.version_for(MetadataRequest)
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        if version == 0 and wanted is None:
            wanted = []  # in version 0 an empty list means all topics, and null cannot be said
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=allow_auto_create)
        answer = from_response(connection.request(request, version))
        self._metadata = answer.merged(self._metadata)
        return answer

    def _partition(self, topic: str, partition: int) -> PartitionMetadata:
        partitions = self.topic(topic).partitions
        if partition not in partitions:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                f"topic {topic!r} has no partition {partition}: it has 0 to {len(partitions) - 1}",
            )
        return partitions[partition]

    # -- what is asked of leaders

    def offsets(
        self, topic: str, timestamps: Mapping[int, int], isolation_level: int = 0
    ) -> dict[int, tuple[int, int]]:
        """Look offsets up by time.

        :param timestamps: for each partition a time in ms, or -1 latest (the offset that the next record
            gets), -2 earliest, -3 the record with the largest timestamp.
        :return: for each partition the offset of the first record at or after the time, and that record's
            timestamp; -1 and -1 where there is none.
        :raises RequestError: a partition does not exist, or its leader refused.
        """
        asked = {TopicPartition(topic, partition): time for partition, time in timestamps.items()}
        return {at.partition: found for at, found in self.offsets_of(asked, isolation_level).items()}

    def offsets_of(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """As :meth:`offsets`, for partitions of several topics."""
        return self.retrying(lambda: list_offsets.lookup(self, timestamps, isolation_level))

    def retrying(self, call: Callable[[], T]) -> T:
        """Call until it succeeds or fails for good; metadata is forgotten between attempts.

        :raises KafkaTXError: what the last attempt raised.
        """
        refused = StallReporter(self.on_wait, self.clock)
        for pause_s in self.backoff.pauses_s():
            try:
                return call()
            except KafkaTXError as error:
                if not retriable(error) or not self._metadata.brokers:
                    raise
                if isinstance(error, RequestError):  # that a broker does not answer is said elsewhere
                    refused.failed(str(error))
            self.forget_metadata()
            self.sleep(pause_s)
        return call()
