"""The extensions that come with kafkatx."""

from kafkatx.interfaces import (
    IAssignor,
    IAuthorizer,
    IBalancer,
    IDecoder,
    IEncoder,
    IEventHandler,
    ILogStore,
    IMetadataStore,
    IPartitioner,
    IProducerCallbacks,
    IRecordFilter,
    IRegistryDecoder,
    IRegistryEncoder,
    IRetentionPolicy,
)
from kafkatx.named_factory import Extension

file_store = Extension(
    ILogStore,
    "file",
    "kafkatx.log.store.file_store:FileLogStore",
    "Segment files in Apache Kafka's layout.",
)
memory_store = Extension(
    ILogStore, "memory", "kafkatx.log.memory:MemoryLogStore", "Records in memory: tests, caches."
)
embedded = Extension(
    IMetadataStore,
    "embedded",
    "kafkatx.metadata.embedded.store:EmbeddedMetadataStore",
    "A cluster of one broker; its state in SQLite.",
)
zookeeper = Extension(
    IMetadataStore,
    "zookeeper",
    "kafkatx.metadata.cluster.factories:zookeeper_store",
    "A cluster of several brokers, which share a ZooKeeper.",
)
local = Extension(
    IMetadataStore,
    "local",
    "kafkatx.metadata.cluster.factories:local_store",
    "A cluster of several brokers on one machine; its state in SQLite, behind a Unix socket.",
)

by_acls = Extension(
    IAuthorizer,
    "acl",
    "kafkatx.security.authorizers.by_acls:AclAuthorizer",
    "Access control lists, with Apache Kafka's semantics.",
)
learn_acls = Extension(
    IAuthorizer,
    "learn",
    "kafkatx.security.authorizers.learn:LearningAuthorizer",
    "Allows everything, and records which ACLs that would need.",
)

time = Extension(
    IRetentionPolicy,
    "time",
    "kafkatx.log.retention:TimeRetention",
    "Deletes segments by age (retention.ms).",
)
size = Extension(
    IRetentionPolicy,
    "size",
    "kafkatx.log.retention:SizeRetention",
    "Deletes the oldest segments by size (retention.bytes).",
)
time_and_size = Extension(
    IRetentionPolicy,
    "time+size",
    "kafkatx.log.retention:TimeAndSizeRetention",
    "Deletes segments by age and by size, as Kafka's delete policy.",
)
keep = Extension(IRetentionPolicy, "keep", "kafkatx.log.retention:KeepAll", "Deletes no segment.")

default_partitioner = Extension(
    IPartitioner,
    "default",
    "kafkatx.partitioners:DefaultPartitioner",
    "murmur2 of the key, as the Java client; sticky without a key.",
)
random_partitioner = Extension(
    IPartitioner, "random", "kafkatx.partitioners:RandomPartitioner", "A random partition."
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
    "Java's hash of the key as a String, as in Kafka 0.7; random without a key.",
)

bytes_encoder = Extension(IEncoder, "bytes", "kafkatx.encoders:BytesEncoder", "Bytes, unchanged.")
string_encoder = Extension(IEncoder, "string", "kafkatx.encoders:StringEncoder", "Text as UTF-8.")
json_encoder = Extension(IEncoder, "json", "kafkatx.encoders:JsonEncoder", "JSON in UTF-8.")
bytes_decoder = Extension(IDecoder, "bytes", "kafkatx.encoders:BytesEncoder", "Bytes, unchanged.")
string_decoder = Extension(IDecoder, "string", "kafkatx.encoders:StringEncoder", "Text as UTF-8.")
json_decoder = Extension(IDecoder, "json", "kafkatx.encoders:JsonEncoder", "JSON in UTF-8.")
access_log_decoder = Extension(
    IDecoder,
    "access-log",
    "kafkatx.decoders.access_log:AccessLogDecoder",
    "Lines of a web server's log in the common or combined format.",
)
avro_decoder = Extension(
    IDecoder, "avro", "kafkatx.decoders.avro:AvroDecoder", "Avro's binary encoding of one schema."
)

_CODERS = "kafkatx.client.registry.coders"
registry_avro_encoder = Extension(
    IRegistryEncoder, "avro", f"{_CODERS}:avro_encoder", "Avro, with a schema registry."
)
registry_json_encoder = Extension(
    IRegistryEncoder, "json-schema", f"{_CODERS}:json_encoder", "JSON with a JSON Schema, from a registry."
)
registry_protobuf_encoder = Extension(
    IRegistryEncoder, "protobuf", f"{_CODERS}:protobuf_encoder", "Protobuf, with a schema registry."
)
registry_json_decoder = Extension(
    IRegistryDecoder, "json-schema", f"{_CODERS}:json_decoder", "JSON with a JSON Schema, from a registry."
)
registry_protobuf_decoder = Extension(
    IRegistryDecoder, "protobuf", f"{_CODERS}:protobuf_decoder", "Protobuf, with a schema registry."
)
registry_avro_decoder = Extension(
    IRegistryDecoder, "avro", f"{_CODERS}:avro_decoder", "Avro, with a schema registry."
)

plain_callbacks = Extension(
    IProducerCallbacks, "none", "kafkatx.client.hooks:ProducerCallbacks", "Does nothing."
)
plain_event_handler = Extension(
    IEventHandler, "default", "kafkatx.client.hooks:EventHandler", "Sends batches to the broker."
)

group_balancer = Extension(
    IBalancer, "group", "kafkatx.client.legacy.group_balancer:GroupBalancer", "Kafka's group protocol."
)
zookeeper_balancer = Extension(
    IBalancer,
    "zookeeper",
    "kafkatx.client.legacy.zookeeper.balancer:ZooKeeperBalancer",
    "Kafka 0.8's: members, owners and offsets in ZooKeeper.",
)

regex_filter = Extension(
    IRecordFilter,
    "regex",
    "kafkatx.mirror.filters:RegexFilter",
    "Records of a mirror whose key, value or headers match.",
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
    "All partitions in turn.",
)
sticky_assignor = Extension(
    IAssignor,
    "sticky",
    "kafkatx.clientcore.group.assignors.factories:sticky_assignor",
    "Balanced, with few partitions moved.",
)
cooperative_sticky_assignor = Extension(
    IAssignor,
    "cooperative-sticky",
    "kafkatx.clientcore.group.assignors.factories:cooperative_sticky_assignor",
    "As sticky; members keep partitions that do not move during a rebalance.",
)
