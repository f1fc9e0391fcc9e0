"""The state of a cluster of one broker, with everything that one can have."""

from __future__ import annotations

import uuid

from kafkatx.metadata.transfer.content import Content
from kafkatx.testing.contracts.security.acl_store import PREFIX, READ, TOPIC, TRANSACTIONS, WRITE
from kafkatx.types import ClusterState, LogDirRecord, PartitionState, Topic

ORDERS, GONE = uuid.UUID(int=1 << 100), uuid.UUID(int=2 << 100)
LED = PartitionState(7, 3, (7,), (7,))


def content(cluster_id: str = "hfbT8eTgQ8C_bWl6n3KZAA", partitions: int = 2) -> Content:
    """Return the content of an import of broker 7."""
    topics = {
        "orders": Topic("orders", ORDERS, (LED,) * partitions, {"retention.ms": "5"}),
        "__consumer_offsets": Topic("__consumer_offsets", uuid.UUID(int=3 << 100), (LED,), {}, True),
    }
    state = ClusterState(
        cluster_id,
        controller_id=-1,
        topics=topics,
        broker_configs={"": {"log.retention.ms": "9"}, "7": {"log.cleaner.threads": "2"}},
        group_configs={"a/b": {"group.session.timeout.ms": "45000"}},
        client_metrics_configs={"a/b": {"metrics": "*"}},
        client_quotas={
            (("client-id", None), ("user", "ann")): {"request_percentage": 50.0},
            (("client-id", "c"), ("user", "ann")): {"consumer_byte_rate": 7.0},
            (("client-id", "c"), ("user", "bob")): {"consumer_byte_rate": 8.0},
            (("user", "ann"),): {"producer_byte_rate": 1048576.0},
            (("client-id", "c"),): {"consumer_byte_rate": 5.0},
            (("ip", None),): {"connection_creation_rate": 9.0},
        },
        scram_credentials={"bob": {"SCRAM-SHA-256": "salt=b"}, "käthe/": {"SCRAM-SHA-512": "salt=k"}},
        acls={TOPIC: frozenset({READ, WRITE}), PREFIX: frozenset({READ}), TRANSACTIONS: frozenset({READ})},
    )
    recorded = LogDirRecord(
        {"dir-a": "/data/a"}, {ORDERS: dict.fromkeys(range(partitions), "dir-a")}, frozenset({GONE})
    )
    return Content(7, state, recorded, next_producer_id=3000)
