"""Making topics, and deleting them, on whatever speaks Kafka's protocol."""

from __future__ import annotations

from kafkatx.blocking import Admin, Cluster


def create_topic(port: int, topic: str, partitions: int) -> None:
    """Make a topic, and wait until all of its partitions have a leader."""
    with Cluster(f"127.0.0.1:{port}") as cluster:
        Admin(cluster).create_topic(topic, partitions)
        cluster.partitions(topic)


def delete_topic(port: int, topic: str) -> None:
    """Delete a topic."""
    with Cluster(f"127.0.0.1:{port}") as cluster:
        Admin(cluster).delete_topic(topic)
