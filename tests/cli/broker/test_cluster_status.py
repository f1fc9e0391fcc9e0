"""The questions of ``kafkatx status`` to a broker, and the answers."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.connection import Connection
from kafkatx.cli.broker.cluster_status import LogDirStatus, ask_broker, describe_broker
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafkatx.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafkatx.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


class OneBroker(Connection):
    """A connection to a broker that answers from a table; what is not in it is not supported."""

    def __init__(self, answers: dict[type[Any], Any]) -> None:
        super().__init__("127.0.0.1", 9092)
        self.answers = answers
        self.requests: list[Any] = []

    def version_for(self, message: type[Any], at_most: int | None = None) -> int:
        """Return one of the middle."""
        return 9

    def request(self, message: Any, version: int | None = None) -> Any:
        """Answer."""
        self.requests.append(message)
        if type(message) not in self.answers:
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, "too old")
        return self.answers[type(message)]


class Silent(OneBroker):
    """A connection to a broker that has gone."""

    def request(self, message: Any, version: int | None = None) -> Any:
        """Fail."""
        raise ConnectionFailed("gone")


def no_other(host: str, port: int) -> OneBroker:
    """Fail: a single broker is not asked twice."""
    raise AssertionError(f"{host}:{port} was asked, too")


def metadata(*node_ids: int) -> MetadataResponse:
    """Make a reply with two topics, one of them with an error."""
    good = MetadataResponseTopic(
        name="t",
        partitions=[MetadataResponsePartition(partition_index=n, leader_id=1 if n else -1) for n in range(3)],
    )
    bad = MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name="u")
    brokers = [MetadataResponseBroker(n, f"broker{n}", 9092) for n in node_ids]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[good, bad])


LISTENERS = DescribeConfigsResponse(
    results=[
        DescribeConfigsResult(
            configs=[DescribeConfigsResourceResult(name="listeners", value="A://:1, B://:2")]
        )
    ]
)
LOG_DIRS = DescribeLogDirsResponse(
    results=[
        DescribeLogDirsResult(
            0,
            "/a",
            [DescribeLogDirsTopic("t", [DescribeLogDirsPartition(n, 100) for n in range(3)])],
            1000,
            700,
        ),
        DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "/b"),
    ]
)


class DescribeBrokerTests(SynchronousTestCase):
    def test_everything(self) -> None:
        """One broker's answers are put together; it is asked for its own listeners only."""
        broker = OneBroker(
            {
                MetadataRequest: metadata(1),
                DescribeConfigsRequest: LISTENERS,
                DescribeLogDirsRequest: LOG_DIRS,
            }
        )
        found = describe_broker(broker, "127.0.0.1:9092", no_other)
        self.assertEqual((found.node_id, found.advertised, found.brokers), (1, "broker1:9092", 1))
        self.assertEqual((found.topics, found.partitions), (1, 3))
        self.assertEqual(found.listeners, ["A://:1", "B://:2"])
        self.assertEqual(
            found.log_dirs,
            [LogDirStatus("/a", 3, 300, 700, None), LogDirStatus("/b", 0, 0, None, "KAFKA_STORAGE_ERROR")],
        )
        (asked,) = [request for request in broker.requests if isinstance(request, DescribeConfigsRequest)]
        self.assertEqual(
            (asked.resources[0].resource_name, asked.resources[0].configuration_keys), ("1", ["listeners"])
        )

    def test_missing_rights(self) -> None:
        """Answers that the caller may not have are named, with the right that it needs."""
        refused = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        answers: dict[type[Any], Any] = {
            MetadataRequest: metadata(1),
            DescribeConfigsRequest: DescribeConfigsResponse(
                results=[DescribeConfigsResult(error_code=refused)]
            ),
            DescribeLogDirsRequest: DescribeLogDirsResponse(error_code=refused),
        }
        found = describe_broker(OneBroker(answers), "127.0.0.1:9092", no_other)
        self.assertEqual(
            found.missing_rights,
            ["listeners need DescribeConfigs on the cluster", "log dirs need Describe on the cluster"],
        )

    def test_old_broker(self) -> None:
        """A broker that knows only metadata has no listeners and log dirs."""
        found = describe_broker(OneBroker({MetadataRequest: metadata(1)}), "127.0.0.1:9092", no_other)
        self.assertEqual((found.listeners, found.log_dirs), ([], []))

    def test_several_brokers(self) -> None:
        """The broker among several is the one that advertises the address, or none."""
        connection = OneBroker({MetadataRequest: metadata(1, 2)})

        def dial(host: str, port: int) -> OneBroker:
            return OneBroker({})

        self.assertEqual(describe_broker(connection, "broker2:9092", dial).node_id, 2)
        found = describe_broker(connection, "127.0.0.1:1", dial)
        self.assertEqual((found.node_id, found.advertised, found.brokers), (-1, "127.0.0.1:1", 2))
        self.assertEqual(found.log_dirs, [])

    def test_each_of_several(self) -> None:
        """Each of several brokers is asked at its own address; one that does not answer is told."""
        made: list[tuple[str, int]] = []

        def dial(host: str, port: int) -> OneBroker:
            made.append((host, port))
            if host == "broker2":
                return Silent({})
            return OneBroker({DescribeConfigsRequest: LISTENERS, DescribeLogDirsRequest: LOG_DIRS})

        found = describe_broker(OneBroker({MetadataRequest: metadata(1, 2)}), "x:1", dial)
        self.assertEqual(made, [("broker1", 9092), ("broker2", 9092)])
        one, two = found.nodes
        self.assertEqual((one.id, one.advertised, one.listeners), (1, "broker1:9092", ["A://:1", "B://:2"]))
        self.assertEqual((one.leads, len(one.log_dirs), one.problem), (2, 2, None))
        self.assertEqual((two.id, two.log_dirs, two.problem), (2, [], "gone"))
        self.assertEqual((found.partitions, found.without_leader), (3, 1))


class AskBrokerTests(SynchronousTestCase):
    def test_nobody(self) -> None:
        """The last broker's error is raised if none of the list answers."""
        with self.assertRaisesRegex(ConnectionFailed, "127.0.0.1:2"):
            ask_broker("127.0.0.1:1,127.0.0.1:2", 1.0)
