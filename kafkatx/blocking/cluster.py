"""The cluster as the blocking client sees it: brokers, leaders, and shared connections."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kafkatx.blocking import list_offsets
from kafkatx.blocking.connection import Channel, Connection
from kafkatx.blocking.security import Dial
from kafkatx.blocking.stalls import StallReporter
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address, format_address, parse_bootstrap
from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic, describe, retriable
from kafkatx.clientcore.leader_hints import LeaderHints, follow
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata, from_response
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

T = TypeVar("T")


class Cluster:
    """Metadata and shared connections; requests are retried after retriable errors.

    The first contact is not retried: an unreachable bootstrap server is an error at once. Not thread-safe. A
    context manager.

    :param retries: number of retries of a call, with pauses that double from *retry_backoff_ms* to 1 s.
    :param dial: connects the sockets, unless there is *connect*; see :mod:`kafkatx.blocking.security`.
    :param on_wait: called every few seconds with a message while no broker answers, or a broker refuses
        requests with a retriable error.
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
        dial: Dial = socket.create_connection,
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
            Connection,
            client_id=client_id,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            dial=dial,
        )
        self._connections: dict[Address, Channel] = {}
        self._metadata = ClusterMetadata()
        self._brokers_stale = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the shared connections; readers and writers close their own ones."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # -- connections

    def any_broker(self) -> Channel:
        """Return a shared connection to any broker that answers: a known one, else a bootstrap server.

        Brokers whose last connection has failed come last: one that hangs costs a time-out each time.

        :raises ConnectionFailed: none answers.
        """
        known = [(node.host, node.port) for node in self._metadata.brokers.values()]
        failure: ConnectionFailed | None = None
        for address in sorted(dict.fromkeys([*known, *self._bootstrap]), key=self._has_failed):
            try:
                return self._shared(address)
            except ConnectionFailed as error:
                # The message should name a bootstrap server, which the user has configured.
                if failure is None or address in self._bootstrap:
                    failure = error
        assert failure is not None  # there is at least one bootstrap server
        raise failure

    def _has_failed(self, address: Address) -> bool:
        connection = self._connections.get(address)
        return connection is not None and connection.closed

    def leader_connection(self, topic: str, partition: int) -> Channel:
        """Return the shared connection to a partition's leader.

        :raises RequestError: there is no such partition, or it has no leader now.
        """
        return self.connection_to(self.leader_node(topic, partition))

    def controller_connection(self) -> Channel:
        """Return the shared connection to the controller, or to any broker if it is unknown."""
        node = self.brokers().get(self._metadata.controller_id)
        return self.connection_to(node) if node else self.any_broker()

    def brokers(self) -> Mapping[int, BrokerNode]:
        """Return the brokers by id; request metadata if none is known yet, or after a retriable error.

        Once it has succeeded, calls are retried after retriable errors.
        """
        if not self._metadata.brokers or self._brokers_stale:
            self._request_metadata([])
        return self._metadata.brokers

    def connection_to(self, node: BrokerNode) -> Channel:
        """Return the shared connection to a broker.

        :raises ConnectionFailed: it does not answer.
        """
        return self._shared((node.host, node.port))

    def leader_node(self, topic: str, partition: int) -> BrokerNode:
        """Return the address of a partition's leader; raises as :meth:`leader_connection`."""
        state = self._partition(topic, partition)
        node = self._metadata.brokers.get(state.leader)
        if node is None:
            raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic} [{partition}] has no leader now")
        return node

    def take_leaders(self, hints: LeaderHints | None) -> None:
        """Take over the new leaders that a reply of Produce or Fetch names, if it does (KIP-951)."""
        if hints is not None:
            self._metadata = follow(self._metadata, hints)

    def has_moved(self, topic: str, partition: int, channel: Channel) -> bool:
        """Return True if a partition is known to have another leader than the broker of a connection."""
        known = self._metadata.topics.get(topic)
        state = known.partitions.get(partition) if known is not None else None
        node = self._metadata.brokers.get(state.leader) if state is not None else None
        return node is not None and (node.host, node.port) != (channel.host, channel.port)

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Return the epoch of the leader of :meth:`leader_node`; -1 if unknown."""
        return self._partition(topic, partition).leader_epoch

    def new_connection(self, node: BrokerNode) -> Channel:
        """Open a connection that the caller owns."""
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
        """Request the metadata of the cluster and these topics; ``None`` means all topics.

        The response is cached. A topic that does not exist is in it with its ``error``.
        """
        return self.retrying(lambda: self._request_metadata(topics, allow_auto_create))

    def topic(self, name: str, allow_auto_create: bool = False) -> TopicMetadata:
        """Return a topic's metadata, from the cache if possible.

        :param allow_auto_create: let the broker create the topic, and wait for it.
        :raises UnknownTopic: the topic does not exist.
        :raises RequestError: another error of the topic, e.g. INVALID_TOPIC_EXCEPTION.
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
        """Return a topic's partition numbers, in order.

        :raises UnknownTopic: the topic does not exist.
        """
        return list(self.topic(topic).partitions)

    def forget_metadata(self) -> None:
        """Drop cached topics, so that they are requested again; brokers stay known."""
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
            wanted = []  # in version 0 an empty list means all topics, and null is not allowed
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=allow_auto_create)
        answer = from_response(connection.request(request, version))
        self._metadata = answer.merged(self._metadata)
        self._brokers_stale = False
        return answer

    def _partition(self, topic: str, partition: int) -> PartitionMetadata:
        partitions = self.topic(topic).partitions
        if partition not in partitions:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                f"topic {topic!r} has no partition {partition}: it has 0 to {len(partitions) - 1}",
            )
        return partitions[partition]

    # -- requests to leaders

    def offsets(
        self, topic: str, timestamps: Mapping[int, int], isolation_level: int = 0
    ) -> dict[int, tuple[int, int]]:
        """Look offsets up by timestamp.

        :param timestamps: for each partition a time in ms, or -1 latest (the log end offset), -2 earliest, -3
            the record with the largest timestamp.
        :return: for each partition the offset and the timestamp of the first record at or after the time; -1
            and -1 if there is none.
        :raises RequestError: a partition does not exist, or its leader answered with an error.
        """
        asked = {TopicPartition(topic, partition): time for partition, time in timestamps.items()}
        return {at.partition: found for at, found in self.offsets_of(asked, isolation_level).items()}

    def offsets_of(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Look offsets up as :meth:`offsets` does, for partitions of several topics."""
        return self.retrying(
            lambda: list_offsets.look_up(self.leader_connection, timestamps, isolation_level)
        )

    def retrying(self, call: Callable[[], T]) -> T:
        """Call until it succeeds or fails for good; forget metadata between attempts.

        :raises KafkaTXError: the error of the last attempt.
        """
        refused = StallReporter(self.on_wait, self.clock)
        for pause_s in self.backoff.pauses_s():
            try:
                return call()
            except KafkaTXError as error:
                if not retriable(error) or not self._metadata.brokers:
                    raise
                if isinstance(error, RequestError):  # lost connections are reported by _open()
                    refused.failed(str(error))
            self.forget_metadata()
            self._brokers_stale = True  # the controller may be another
            self.sleep(pause_s)
        return call()
