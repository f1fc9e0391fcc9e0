"""The blocking client against a real broker, also one that is killed meanwhile."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    Admin,
    Cluster,
    Connection,
    OffsetOutOfRange,
    ProduceFailed,
    Reader,
    Writer,
)
from kafkatx.blocking.consumer.fetcher import Fetcher
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.conversion import iter_any
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.fetch import FetchRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.integration.clients import CODECS, messages, new_topic
from tests.integration.shared import shared_broker
from tests.ports import free_port

KILLS = 5


class BlockingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster, and a topic that does not exist yet."""
        self.cluster = Cluster(shared_broker().bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = new_topic()

    def read(self, start: int, end: int, cluster: Cluster | None = None) -> list[Any]:
        """Records of partition 0."""
        with Reader(cluster or self.cluster, self.topic, 0, start_offset=start, end_offset=end) as reader:
            return list(reader)

    def test_codecs(self) -> None:
        """With each codec all that goes in comes out, with keys, headers and timestamps."""
        for codec in CODECS:
            self.topic = new_topic()
            with Writer(self.cluster, self.topic, compression=codec, batch_bytes=50_000) as writer:
                for number, (key, value) in enumerate(messages()):
                    writer.send(
                        value, key, headers=[("n", b"%d" % number), ("null", None)], timestamp_ms=number
                    )
            self.assertEqual(writer.totals.records, 10_000)
            self.assertEqual(
                self.read(0, 10_000),
                [
                    (n, n, key, value, [("n", b"%d" % n), ("null", None)])
                    for n, (key, value) in enumerate(messages())
                ],
            )

    def test_every_version(self) -> None:
        """Every version of the requests that carry and look up records is served alike."""
        wanted = [(b"k%d" % n, b"v%d" % n) for n in range(100)]
        for request, versions in (
            (ProduceRequest, range(13)),
            (FetchRequest, range(13)),
            (ListOffsetsRequest, range(8)),
            (MetadataRequest, range(13)),
        ):
            for version in versions:
                self.topic = new_topic()
                with Cluster(shared_broker().bootstrap, connect=_limited({request: version})) as cluster:
                    old = request is ProduceRequest and version < 3
                    with Writer(cluster, self.topic, idempotent=not old, compression="gzip") as writer:
                        for key, value in wanted:
                            writer.send(value, key)
                    end = cluster.offsets(self.topic, {0: LATEST})[0][0]
                    got = [(record.key, record.value) for record in self.read(0, end, cluster)]
                    self.assertEqual(got, wanted, f"{request.__name__} {version}")

    def test_offsets(self) -> None:
        """Earliest, latest, by time, and the largest timestamp."""
        with Writer(self.cluster, self.topic) as writer:
            for timestamp in (100, 300, 200):
                writer.send(b"x", timestamp_ms=timestamp)
        for asked, found in ((EARLIEST, 0), (LATEST, 3), (100, 0), (101, 1), (301, -1), (MAX_TIMESTAMP, 1)):
            self.assertEqual(self.cluster.offsets(self.topic, {0: asked})[0][0], found, asked)
        self.assertEqual(self.cluster.offsets(self.topic, {0: 101})[0], (1, 300))

    def test_out_of_range(self) -> None:
        """An offset beyond the end is an error that says what there is."""
        with Writer(self.cluster, self.topic) as writer:
            writer.send(b"x")
        error = self.assertRaises(OffsetOutOfRange, self.read, 5, 9)
        self.assertEqual((error.earliest, error.latest), (0, 1))

    def test_too_large(self) -> None:
        """Batches are cut where the topic takes less; a single message above the limit is refused."""
        Admin(self.cluster).create_topic(self.topic, configs={"max.message.bytes": "1000"})
        values = [b"%d" % n for n in range(1000)]
        with Writer(self.cluster, self.topic) as writer:
            writer.send_values(values)
        self.assertEqual([record.value for record in self.read(0, 1000)], values)
        writer = Writer(self.cluster, self.topic)
        writer.send(b"x" * 2000)
        error = self.assertRaises(ProduceFailed, writer.close)
        self.assertEqual(error.code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_many_partitions(self) -> None:
        """One fetch after the other reads all partitions, each in order, through small replies."""
        Admin(self.cluster).create_topic(self.topic, 7)
        with Writer(self.cluster, self.topic, batch_bytes=500) as writer:
            for number in range(5000):
                writer.send(b"%d" % number, b"%d" % (number % 50))
        ends = self.cluster.offsets(self.topic, dict.fromkeys(range(7), LATEST))
        fetcher = Fetcher(
            self.cluster, self.topic, {p: (0, end) for p, (end, _) in ends.items()}, max_bytes=4000
        )
        values: dict[int, list[int]] = {p: [] for p in range(7)}
        for chunk in fetcher.chunks():
            values[chunk.partition] += [int(record.value or b"") for record in iter_any(chunk.data)]
        self.assertEqual(sorted(n for got in values.values() for n in got), list(range(5000)))
        for got in values.values():
            self.assertEqual(got, sorted(got))

    def test_admin(self) -> None:
        """A topic is created, described with its settings, listed, deleted."""
        admin = Admin(self.cluster)
        admin.create_topic(self.topic, 3, 1, {"retention.ms": "12345"})
        described = admin.describe_topic(self.topic)
        self.assertEqual([(p.earliest, p.latest) for p in described.partitions], [(0, 0)] * 3)
        own = {name: entry.value for name, entry in described.configs.items() if entry.overridden}
        self.assertEqual(own, {"retention.ms": "12345"})
        self.assertIn(self.topic, [topic.name for topic in admin.list_topics()])
        admin.delete_topic(self.topic)
        self.assertNotIn(self.topic, [topic.name for topic in admin.list_topics()])
        error = self.assertRaises(RequestError, admin.create_topic, "../x")
        self.assertEqual(error.code, ErrorCode.INVALID_TOPIC_EXCEPTION)


def _limited(versions: dict[type[Any], int]) -> Any:
    """Make connections that speak these versions, as if the broker had no newer ones."""

    class Limited(Connection):
        """A connection with an older broker's versions of some requests."""

        def version_for(self, message: type[Any], at_most: int | None = None) -> int:
            """The version given for this request, else the highest."""
            return super().version_for(message, versions.get(message, at_most))

    return Limited


class KilledBrokerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that keeps its port and its data when it is started again."""
        listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        self.broker = EmbeddedBroker(listeners, data_dir=self.mktemp(), run_in="process")
        self.broker.start()
        self.addCleanup(self.broker.stop)

    def restart(self) -> None:
        """Drop the connection, as after ``kill -9``."""
        self.broker.kill()
        self.broker.start()

    def test_writer(self) -> None:
        """Requests are under way whenever the broker is killed: all is there once, in order."""
        count = 0
        with Cluster(self.broker.bootstrap) as cluster:
            with Writer(cluster, "t") as writer:
                for _ in range(KILLS):
                    for _ in range(20):
                        writer.send_values([b"%d" % n for n in range(count, count + 50)])
                        count += 50
                    self.restart()
            with Reader(cluster, "t", 0, start_offset=0, end_offset=count) as reader:
                self.assertEqual([int(record.value or b"") for record in reader], list(range(count)))
            self.assertEqual(cluster.offsets("t", {0: LATEST})[0][0], count)
        self.assertEqual(writer.totals.records, count)

    def test_reader(self) -> None:
        """A reader goes on where it was when the broker is killed and comes back."""
        values = [b"%d" % n * 100 for n in range(5000)]
        with Cluster(self.broker.bootstrap) as cluster:
            with Writer(cluster, "t", batch_bytes=10_000) as writer:
                writer.send_values(values)
            got: list[bytes | None] = []
            with Reader(cluster, "t", 0, start_offset=0, end_offset=5000, max_bytes=100_000) as reader:
                for columns in reader.read_columns():
                    if not got:
                        self.restart()
                    got += columns.values
        self.assertEqual(got, values)
