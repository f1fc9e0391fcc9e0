"""An internal synchronous client: plain sockets, no Twisted, no threads.

It is for Spark executors and short commands, where a reactor can neither restart nor survive a fork.
Applications use :mod:`kafkatx.client.threads` instead.

::

    with Cluster("127.0.0.1:9092") as cluster:
        with Writer(cluster, "greetings") as writer:
            writer.send(b"hello")
        with Reader(cluster, "greetings", 0, start_offset=0, end_offset=1) as reader:
            for record in reader:
                print(record.value)
"""

from kafkatx.blocking.admin.topics import Admin
from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.connection import Connection
from kafkatx.blocking.consumer.reader import Reader
from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.consumer.columns import Columns
from kafkatx.clientcore.errors import ConnectionFailed, OffsetOutOfRange, ProduceFailed, UnknownTopic
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata

__all__ = [
    "Admin",
    "Cluster",
    "ClusterMetadata",
    "Columns",
    "Connection",
    "ConnectionFailed",
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "OffsetOutOfRange",
    "PartitionMetadata",
    "ProduceFailed",
    "Reader",
    "TopicMetadata",
    "UnknownTopic",
    "Writer",
]
