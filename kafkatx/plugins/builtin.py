"""The extensions that come with kafkatx."""

from kafkatx.extension import Extension
from kafkatx.interfaces import (
    IAssignor,
    IBalancer,
    ICoordinator,
    IDecoder,
    IEncoder,
    IEventHandler,
    ILogStore,
    IPartitioner,
    IProducerCallbacks,
    IRetentionPolicy,
)

file_store = Extension(
    ILogStore,
    "file",
    "kafkatx.log.store.file_store:FileLogStore",
    "Segment files laid out as Apache Kafka's.",
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
hash_partitioner = Extension(
    IPartitioner,
    "hash",
    "kafkatx.partitioners:HashPartitioner",
    "Java's hash of the key as a String, as in Kafka 0.7; any partition without a key.",
)

bytes_encoder = Extension(IEncoder, "bytes", "kafkatx.encoders:BytesEncoder", "Messages as they are.")
string_encoder = Extension(IEncoder, "string", "kafkatx.encoders:StringEncoder", "Text as UTF-8.")
json_encoder = Extension(IEncoder, "json", "kafkatx.encoders:JsonEncoder", "JSON in UTF-8.")
bytes_decoder = Extension(IDecoder, "bytes", "kafkatx.encoders:BytesEncoder", "Messages as they are.")
string_decoder = Extension(IDecoder, "string", "kafkatx.encoders:StringEncoder", "Text as UTF-8.")
json_decoder = Extension(IDecoder, "json", "kafkatx.encoders:JsonEncoder", "JSON in UTF-8.")
access_log_decoder = Extension(
    IDecoder,
    "access-log",
    "kafkatx.decoders.access_log:AccessLogDecoder",
    "Lines of a web server's log, common or combined format.",
)
avro_decoder = Extension(
    IDecoder, "avro", "kafkatx.decoders.avro:AvroDecoder", "Avro's binary encoding, of one schema."
)

plain_callbacks = Extension(
    IProducerCallbacks, "none", "kafkatx.client.hooks:ProducerCallbacks", "Nobody is told."
)
plain_event_handler = Extension(
    IEventHandler, "default", "kafkatx.client.hooks:EventHandler", "Batches are sent to the broker."
)

group_balancer = Extension(
    IBalancer, "group", "kafkatx.client.legacy.group_balancer:GroupBalancer", "Kafka's group protocol."
)

range_assignor = Extension(
    IAssignor,
    "range",
    "kafkatx.clientcore.group.assignors.factories:range_assignor",
    "Neighbouring partitions of each topic.",
)
round_robin_assignor = Extension(
    IAssignor,
    "roundrobin",
    "kafkatx.clientcore.group.assignors.factories:round_robin_assignor",
    "All partitions dealt out like cards.",
)
sticky_assignor = Extension(
    IAssignor,
    "sticky",
    "kafkatx.clientcore.group.assignors.factories:sticky_assignor",
    "As even as can be, and few partitions move.",
)
cooperative_sticky_assignor = Extension(
    IAssignor,
    "cooperative-sticky",
    "kafkatx.clientcore.group.assignors.factories:cooperative_sticky_assignor",
    "The same, and members keep what does not move while they rebalance.",
)
