"""The collector of topics and partitions: counts, facts, limits, and counters that never go back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.broker.metrics.application import make_application
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.metrics.scraped import ScrapeTestCase

TOPICS = "kafka_server_brokertopicmetrics_"
PARTITION = "kafka_topic_partition_"


class PartitionCollectorTests(ScrapeTestCase):
    def fetch(self, offset: int, topic: str = "t", replica_id: int = -1) -> None:
        """Fetch from a partition."""
        asked = FetchTopic(
            topic, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)]
        )
        self.ask(1, 11, FetchRequest(replica_id=replica_id, max_bytes=1 << 20, topics=[asked]))

    def test_counts(self) -> None:
        """Records written and read are counted for the topic, and for the broker."""
        self.make_topic()
        self.fill(b"one", b"two")
        self.fill(b"three")
        size = self.broker.topics.of("t")[0].log.size_bytes
        self.fetch(0)
        self.fetch(2)
        self.fetch(99)
        self.assertNotEqual(self.produce(b"damaged").error_code, 0)
        found = self.scrape()
        out = self.value(found, f"{TOPICS}bytesout_total") or 0
        self.assertGreater(out, size)
        wanted = {
            f"{TOPICS}messagesin_total": 3,
            f"{TOPICS}bytesin_total": size,
            f"{TOPICS}bytesout_total": out,
            f"{TOPICS}totalproducerequests_total": 3,
            f"{TOPICS}failedproducerequests_total": 1,
            f"{TOPICS}totalfetchrequests_total": 3,
            f"{TOPICS}failedfetchrequests_total": 1,
        }
        self.assertValues(found, wanted, topic="t")
        self.assertValues(found, wanted)
        self.assertValues(found, {"kafkatx_log_writes_total": 2, "kafkatx_log_batches_total": 2})

    def test_followed(self) -> None:
        """Batches copied from a leader are replication, and no producer's."""
        (partition,) = self.make_topic()
        partition.log.append_as_follower(build_values([b"a", b"b"], 1), 0)
        partition.log.write()
        size = partition.log.size_bytes
        found = self.scrape()
        self.assertValues(found, {f"{TOPICS}messagesin_total": 0, f"{TOPICS}bytesin_total": 0}, topic="t")
        self.assertValues(found, {f"{TOPICS}replicationbytesin_total": size})

    def test_totals_outlive_topics(self) -> None:
        """The broker's counters keep what was counted for a topic that is deleted, and created again."""
        self.make_topic()
        self.fill(b"one", b"two")
        self.scrape()
        self.fill(b"three")
        self.scrape()
        for values in ([b"four"], [b"five", b"six", b"seven", b"eight"]):
            self.delete_topic()
            self.assertValues(self.scrape(), {f"{TOPICS}messagesin_total": 3 + (values[0] == b"five")})
            self.make_topic()
            self.fill(*values)
            found = self.scrape()
        self.assertValues(found, {f"{TOPICS}messagesin_total": 8})
        self.assertValues(found, {f"{TOPICS}messagesin_total": 4}, topic="t")

    def test_created_again(self) -> None:
        """A topic that is deleted and created again between two scrapes begins anew, and all is counted."""
        self.make_topic()
        self.fill(b"one", b"two", b"three")
        self.scrape()
        self.delete_topic()
        self.make_topic()
        self.fill(b"four")
        self.assertValues(self.scrape(), {f"{TOPICS}messagesin_total": 4})

    def delete_topic(self) -> None:
        """Delete the topic."""
        self.ask(20, 5, DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000))
        self.assertEqual(self.broker.topics.of("t"), [])

    def test_facts(self) -> None:
        """Each partition has its offsets, replicas and size."""
        self.make_topic(partitions=2)
        self.fill(b"one", b"two", partition=1)
        found = self.scrape()
        self.assertValues(found, {"kafka_topic_partitions": 2}, topic="t")
        wanted = {
            f"{PARTITION}current_offset": 2,
            f"{PARTITION}oldest_offset": 0,
            f"{PARTITION}in_sync_replica": 1,
            f"{PARTITION}replicas": 1,
            f"{PARTITION}leader": 0,
            f"{PARTITION}leader_is_preferred": 1,
            f"{PARTITION}under_replicated_partition": 0,
            "kafka_cluster_partition_replicascount": 1,
            "kafka_cluster_partition_insyncreplicascount": 1,
            "kafka_cluster_partition_underminisr": 0,
            "kafka_cluster_partition_atminisr": 1,
            "kafka_log_log_size": self.broker.topics.of("t")[1].log.size_bytes,
        }
        self.assertValues(found, wanted, topic="t", partition="1")
        self.assertValues(found, {f"{PARTITION}current_offset": 0}, topic="t", partition="0")

    def test_internal_topics(self) -> None:
        """The broker's own topics are not shown, but counted."""
        (partition,) = self.make_topic()
        partition.internal = True
        partition.log.append(build_values([b"a"], self.now_ms), 0, self.now_ms, True)
        partition.log.write()
        found = self.scrape()
        self.assertIsNone(self.value(found, f"{TOPICS}messagesin_total", topic="t"))
        self.assertValues(found, {f"{TOPICS}messagesin_total": 1})


class LimitTests(ScrapeTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        "kafkatx.metrics.max.topics": "2",
        "kafkatx.metrics.max.partitions": "3",
    }

    def test_others(self) -> None:
        """Topics and partitions above the limits are summed up, and one line says how many they are."""
        for name in ("a", "b", "c", "d"):
            self.make_topic(name, partitions=2)
            self.fill(b"one", topic=name, partition=1)
        found = self.scrape()
        current = found[f"{PARTITION}current_offset"]
        self.assertEqual(
            {tuple(sorted(dict(key).items())): value for key, value in current.items()},
            {
                (("partition", "0"), ("topic", "a")): 0,
                (("partition", "1"), ("topic", "a")): 1,
                (("partition", "0"), ("topic", "b")): 0,
                (("partition", "(others)"), ("topic", "b")): 1,
                (("partition", "(others)"), ("topic", "(others)")): 2,
            },
        )
        self.assertEqual(sum(found[f"{TOPICS}messagesin_total"].values()), 2 * 4)
        self.assertEqual(self.value(found, f"{TOPICS}messagesin_total", topic="(others)"), 2)
        self.assertEqual(self.value(found, "kafkatx_metrics_left_out", kind="topics"), 2)
        self.assertEqual(self.value(found, "kafkatx_metrics_left_out", kind="partitions"), 5)
        self.assertNotIn("(others)", {dict(key)["partition"] for key in found[f"{PARTITION}leader"]})

    def test_no_partitions(self) -> None:
        """Zero is a limit, too."""
        self.broker.config = self.broker.config.with_values({"kafkatx.metrics.max.partitions": "0"})
        self.application = make_application(self.sources)
        self.make_topic(partitions=3)
        found = self.scrape()
        self.assertEqual({dict(key)["partition"] for key in found["kafka_log_log_size"]}, {"(others)"})
