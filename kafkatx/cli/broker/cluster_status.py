"""The questions of ``kafkatx status`` to a broker. Uses plain sockets, not Twisted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import NO_LEADER

if TYPE_CHECKING:
    from kafkatx.blocking.connection import Channel
    from kafkatx.clientcore.metadata import ClusterMetadata
    from kafkatx.types import BrokerNode

BROKER_RESOURCE = 4
LISTENERS = "listeners"


@attrs.frozen
class LogDirStatus:
    """A log dir.

    :ivar size_bytes: the size of the partitions' logs.
    :ivar free_bytes: free space of its volume; None if the broker does not say.
    :ivar error: the name of an error code if the dir is offline.
    """

    path: str
    partitions: int
    size_bytes: int
    free_bytes: int | None
    error: str | None


@attrs.frozen
class NodeStatus:
    """One of several brokers.

    :ivar leads: number of partitions that it leads.
    :ivar problem: why it does not answer; None if it does.
    """

    id: int
    advertised: str
    rack: str | None
    leads: int
    listeners: list[str]
    log_dirs: list[LogDirStatus]
    problem: str | None = None


@attrs.frozen
class ClusterStatus:
    """A broker's answers about itself and its cluster.

    :ivar node_id: -1 if there are several brokers and none advertises the address that was asked.
    :ivar listeners: where it listens, as in its settings; empty if it does not say.
    :ivar advertised: ``host:port`` that it tells clients to dial.
    :ivar partitions: the number of partitions of all topics.
    :ivar without_leader: the number of partitions that have no leader.
    :ivar nodes: all brokers, each asked by itself, if there are several.
    :ivar missing_rights: what the caller may not see, and the right that it needs for that.
    """

    node_id: int
    advertised: str
    cluster_id: str | None
    controller_id: int
    brokers: int
    listeners: list[str]
    topics: int
    partitions: int
    log_dirs: list[LogDirStatus]
    without_leader: int = 0
    nodes: list[NodeStatus] = attrs.Factory(list)
    missing_rights: list[str] = attrs.Factory(list)


def ask_broker(bootstrap: str, timeout_s: float) -> ClusterStatus:
    """Ask the first of these brokers that answers and, if there are several, each broker of its cluster.

    :param bootstrap: ``host:port``, with commas between.
    :param timeout_s: the time to wait for a connection, and for each reply.
    :raises ConnectionFailed: none answers.
    :raises RequestError: it refuses.
    :raises SettingError: *bootstrap* is malformed, or a setting of ``--command-config`` is wrong.
    """
    from kafkatx.blocking.connection import Connection
    from kafkatx.blocking.security import dial_with
    from kafkatx.cli.options.cluster import command_config
    from kafkatx.clientcore.bootstrap import parse_bootstrap
    from kafkatx.clientcore.errors import ConnectionFailed

    connect_socket = dial_with(command_config())

    def dial(host: str, port: int) -> Connection:
        return Connection(host, port, timeout_s=timeout_s, connect_timeout_s=timeout_s, dial=connect_socket)

    addresses = parse_bootstrap(bootstrap)
    for number, (host, port) in enumerate(addresses, 1):
        with dial(host, port) as connection:
            try:
                return describe_broker(connection, connection.address, dial)
            except ConnectionFailed:
                if number == len(addresses):
                    raise
    raise AssertionError("a bootstrap list has at least one address")


def describe_broker(connection: Channel, address: str, dial: Callable[[str, int], Channel]) -> ClusterStatus:
    """Ask one broker; requests that it does not know leave their fields empty.

    :param address: the ``host:port`` that was dialled.
    :param dial: connects to the other brokers, if there are several.
    """
    from kafkatx.clientcore.bootstrap import format_address
    from kafkatx.clientcore.metadata import from_response
    from kafkatx.clientcore.metadata_request import metadata_request
    from kafkatx.wire.messages.metadata import MetadataRequest

    version = connection.version_for(MetadataRequest)
    cluster = from_response(connection.request(metadata_request(None, version, False), version))
    node = _asked_node(cluster, address)
    shown = [topic for topic in cluster.topics.values() if not topic.error]
    leaders = Counter(partition.leader for topic in shown for partition in topic.partitions.values())
    several = len(cluster.brokers) > 1
    denied: dict[str, None] = {}
    nodes = [
        _node(one, leaders[one.id], dial, denied) for _, one in sorted(cluster.brokers.items()) if several
    ]
    listeners = [] if node is None else _listeners(connection, node.id, denied)
    log_dirs = [] if node is None else _log_dirs(connection, denied)
    return ClusterStatus(
        -1 if node is None else node.id,
        address if node is None else format_address((node.host, node.port)),
        cluster.cluster_id,
        cluster.controller_id,
        len(cluster.brokers),
        listeners,
        len(shown),
        sum(leaders.values()),
        log_dirs,
        leaders[NO_LEADER],
        nodes,
        [*denied],
    )


def _node(
    node: BrokerNode, leads: int, dial: Callable[[str, int], Channel], denied: dict[str, None]
) -> NodeStatus:
    """Ask one of several brokers."""
    from kafkatx.clientcore.bootstrap import format_address

    advertised = format_address((node.host, node.port))
    connection = dial(node.host, node.port)
    try:
        listeners, log_dirs = _listeners(connection, node.id, denied), _log_dirs(connection, denied)
    except KafkaTXError as error:
        return NodeStatus(node.id, advertised, node.rack, leads, [], [], str(error))
    finally:
        connection.close()
    return NodeStatus(node.id, advertised, node.rack, leads, listeners, log_dirs)


def _asked_node(cluster: ClusterMetadata, address: str) -> BrokerNode | None:
    from kafkatx.clientcore.bootstrap import format_address

    nodes = list(cluster.brokers.values())
    if len(nodes) == 1:
        return nodes[0]
    return next((node for node in nodes if format_address((node.host, node.port)) == address), None)


def _listeners(connection: Channel, node_id: int, denied: dict[str, None]) -> list[str]:
    """Return the listeners of a broker, if it says; note in *denied* what is not allowed."""
    from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

    asked = DescribeConfigsResource(BROKER_RESOURCE, str(node_id), [LISTENERS])
    with suppress(RequestError):  # older than DescribeConfigs
        for result in connection.request(DescribeConfigsRequest([asked])).results:
            if result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                denied["listeners need DescribeConfigs on the cluster"] = None
            for entry in result.configs:
                if entry.name == LISTENERS and entry.value:
                    return [item.strip() for item in entry.value.split(",")]
    return []


def _log_dirs(connection: Channel, denied: dict[str, None]) -> list[LogDirStatus]:
    """Return the log dirs of a broker, if it says; note in *denied* what is not allowed."""
    from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult

    def described(result: DescribeLogDirsResult) -> LogDirStatus:
        partitions = [partition for topic in result.topics for partition in topic.partitions]
        return LogDirStatus(
            result.log_dir,
            len(partitions),
            sum(partition.partition_size for partition in partitions),
            None if result.usable_bytes < 0 else result.usable_bytes,
            ErrorCode.of(result.error_code).name if result.error_code else None,
        )

    try:
        response = connection.request(DescribeLogDirsRequest(topics=None))
    except RequestError:  # older than DescribeLogDirs
        return []
    if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        denied["log dirs need Describe on the cluster"] = None
    return [described(result) for result in response.results]
