"""The extensions that come with kafkatx."""

from kafkatx.extension import Extension
from kafkatx.interfaces import ICoordinator, ILogStore, IPartitioner, IRetentionPolicy

file_store = Extension(
    ILogStore, "file", "kafkatx.log.store:FileLogStore", "Segment files laid out as Apache Kafka's."
)
memory_store = Extension(
    ILogStore, "memory", "kafkatx.log.memory:MemoryLogStore", "Records in memory: tests, caches."
)
embedded = Extension(
    ICoordinator,
    "embedded",
    "kafkatx.coordination.embedded:EmbeddedCoordinator",
    "One broker; the cluster's state in SQLite.",
)

time = Extension(
    IRetentionPolicy, "time", "kafkatx.log.retention:TimeRetention", "Segments older than retention.ms go."
)
size = Extension(
    IRetentionPolicy,
    "size",
    "kafkatx.log.retention:SizeRetention",
    "The oldest segments beyond retention.bytes go.",
)
time_and_size = Extension(
    IRetentionPolicy,
    "time+size",
    "kafkatx.log.retention:TimeAndSizeRetention",
    "Segments go by age or by size, as Kafka's delete policy.",
)
keep = Extension(IRetentionPolicy, "keep", "kafkatx.log.retention:KeepAll", "No segment ever goes.")

default_partitioner = Extension(
    IPartitioner,
    "default",
    "kafkatx.partitioners:DefaultPartitioner",
    "murmur2 of the key as the Java client; sticky without a key.",
)
random_partitioner = Extension(
    IPartitioner, "random", "kafkatx.partitioners:RandomPartitioner", "Any partition."
)
round_robin_partitioner = Extension(
    IPartitioner,
    "round-robin",
    "kafkatx.partitioners:RoundRobinPartitioner",
    "Each partition in turn.",
)
