"""The small synchronous client: plain sockets, no Twisted, no threads.

For Spark executors and short commands, where a reactor can neither restart nor survive a fork::

    with Cluster("127.0.0.1:9092") as cluster:
        with Writer(cluster, "greetings") as writer:
            writer.send(b"hello")
        with Reader(cluster, "greetings", 0, start_offset=0, end_offset=1) as reader:
            for record in reader:
                print(record.value)
"""

from kafkatx.blocking.admin import Admin
from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.connection import Connection
from kafkatx.blocking.reader import Reader
from kafkatx.blocking.writer import Writer
from kafkatx.clientside.columns import Columns
from kafkatx.clientside.errors import ConnectionFailed, OffsetOutOfRange, ProduceFailed, UnknownTopic
from kafkatx.clientside.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kafkatx.clientside.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata

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
