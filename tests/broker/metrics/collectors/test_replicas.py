"""The collector of replicas: roles, waiting fetches, followers, compaction."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.metrics.scraped import ScrapeTestCase
from tests.broker.replicated import ReplicatedTestCase

MANAGER = "kafka_server_replicamanager_"


class ReplicaCollectorTests(ScrapeTestCase):
    def test_parked(self) -> None:
        """A fetch that waits for several partitions is one."""
        self.make_topic(partitions=3)
        asked = [FetchPartition(number, fetch_offset=0, partition_max_bytes=1000) for number in range(3)]
        request = FetchRequest(max_wait_ms=5000, min_bytes=1, topics=[FetchTopic("t", partitions=asked)])
        waiting = self.answer(1, 11, request)
        assert isinstance(waiting, Deferred)
        self.assertValues(self.scrape(), {"kafkatx_parked_fetches": 1})
        self.clock.advance(5)
        self.successResultOf(waiting)
        self.assertValues(self.scrape(), {"kafkatx_parked_fetches": 0})

    def test_compaction(self) -> None:
        """Closed segments of compacted logs that were not cleaned are the cleaner's debt."""
        self.make_topic("plain", segment_bytes="100")
        self.make_topic("compacted", cleanup_policy="compact", segment_bytes="100")
        for topic in ("plain", "compacted"):
            log = self.broker.topics.of(topic)[0].log
            for number in range(4):
                builder = BatchBuilder()
                builder.append(b"key", bytes(50), self.now_ms + number)
                log.append(builder.build(), 0, self.now_ms, True)
                log.write()
        log = self.broker.topics.of("compacted")[0].log
        debt = log.size_bytes - log.segments[-1].size_bytes
        found = self.scrape()
        self.assertValues(found, {"kafkatx_cleaner_logs": 1, "kafkatx_cleaner_dirty_bytes": debt})
        self.assertAlmostEqual(
            self.value(found, "kafkatx_cleaner_max_dirty_ratio") or 0, debt / log.size_bytes, 3
        )


class FollowerTests(ReplicatedTestCase, ScrapeTestCase):
    def test_followers(self) -> None:
        """The leader tells how far the replicas of each broker are behind, and since when."""
        (partition,) = self.make_replicated()
        self.produce(build_values([b"value"], self.now_ms), acks=1)
        self.replicate(partition, 1, 2)
        self.clock.advance(1)
        self.replicate(partition, 1, 2)
        self.replicate(partition, 0, 3)
        self.clock.advance(4)
        found = self.scrape()
        self.assertValues(
            found, {"kafkatx_replica_max_lag_records": 0, "kafkatx_replica_max_lag_seconds": 0}, replica="2"
        )
        self.assertValues(
            found, {"kafkatx_replica_max_lag_records": 1, "kafkatx_replicas_out_of_sync": 0}, replica="3"
        )
        self.assertGreaterEqual(self.value(found, "kafkatx_replica_max_lag_seconds", replica="3") or 0, 5)
        wanted = {f"{MANAGER}leadercount": 1, f"{MANAGER}partitioncount": 1}
        self.assertValues(found, {**wanted, f"{MANAGER}underreplicatedpartitions": 0})

    def test_under_replicated(self) -> None:
        """A replica that is not in sync makes the partition under-replicated, and under its minimum."""
        self.make_replicated(configs={"min.insync.replicas": "3"})
        self.metadata.replicate("t", isr=(1, 2))
        found = self.scrape()
        wanted = {f"{MANAGER}underreplicatedpartitions": 1, f"{MANAGER}underminisrpartitioncount": 1}
        self.assertValues(found, wanted)
        self.assertValues(found, {"kafka_cluster_partition_underminisr": 1}, topic="t", partition="0")
        self.assertValues(found, {"kafkatx_replicas_out_of_sync": 1}, replica="3")
