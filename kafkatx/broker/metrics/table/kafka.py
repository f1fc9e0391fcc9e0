"""Metrics with the names that Prometheus' JMX exporter gives to those of Apache Kafka, by Strimzi's rules."""

from __future__ import annotations

from kafkatx.broker.metrics.table.row import Family

KAFKA = Family(
    "kafka",
    "Names that the JMX exporter gives to Apache Kafka's metrics by Strimzi's rules, so that its dashboard "
    "and alerts find their series.",
)

# --- topics; the series without a label is the sum of all topics since the start

MESSAGES_IN = KAFKA.counter(
    "kafka_server_brokertopicmetrics_messagesin_total", "Records that producers have written.", "topic"
)
BYTES_IN = KAFKA.counter(
    "kafka_server_brokertopicmetrics_bytesin_total", "Bytes of batches that producers have written.", "topic"
)
BYTES_OUT = KAFKA.counter(
    "kafka_server_brokertopicmetrics_bytesout_total", "Bytes of records sent to consumers.", "topic"
)
PRODUCE_REQUESTS = KAFKA.counter(
    "kafka_server_brokertopicmetrics_totalproducerequests_total",
    "Batches that producers have written, and requests that were refused: a request has one batch for a "
    "partition.",
    "topic",
)
FETCH_REQUESTS = KAFKA.counter(
    "kafka_server_brokertopicmetrics_totalfetchrequests_total",
    "Fetch requests of consumers, counted for each partition.",
    "topic",
)
FAILED_PRODUCES = KAFKA.counter(
    "kafka_server_brokertopicmetrics_failedproducerequests_total",
    "Produce requests that were refused, counted for each partition.",
    "topic",
)
FAILED_FETCHES = KAFKA.counter(
    "kafka_server_brokertopicmetrics_failedfetchrequests_total",
    "Fetch requests of consumers that got an error, counted for each partition.",
    "topic",
)
REPLICATION_BYTES_IN = KAFKA.counter(
    "kafka_server_brokertopicmetrics_replicationbytesin_total",
    "Bytes of batches copied from leaders, or from the source of a mirror.",
)
REPLICATION_BYTES_OUT = KAFKA.counter(
    "kafka_server_brokertopicmetrics_replicationbytesout_total", "Bytes of records sent to followers."
)

# --- partitions

REPLICAS_COUNT = KAFKA.gauge(
    "kafka_cluster_partition_replicascount",
    "Replicas of a partition, told by its leader.",
    "topic",
    "partition",
)
ISR_COUNT = KAFKA.gauge(
    "kafka_cluster_partition_insyncreplicascount",
    "In-sync replicas of a partition, told by its leader.",
    "topic",
    "partition",
)
UNDER_MIN_ISR = KAFKA.gauge(
    "kafka_cluster_partition_underminisr",
    "1 if a partition has fewer in-sync replicas than min.insync.replicas, told by its leader.",
    "topic",
    "partition",
)
AT_MIN_ISR = KAFKA.gauge(
    "kafka_cluster_partition_atminisr",
    "1 if a partition has exactly min.insync.replicas in-sync replicas, told by its leader.",
    "topic",
    "partition",
)
LOG_SIZE = KAFKA.gauge(
    "kafka_log_log_size", "Bytes of the log of each partition that is here.", "topic", "partition"
)

# --- the broker

LEADER_COUNT = KAFKA.gauge("kafka_server_replicamanager_leadercount", "Partitions that this broker leads.")
PARTITION_COUNT = KAFKA.gauge(
    "kafka_server_replicamanager_partitioncount", "Partitions of which this broker has a replica."
)
OFFLINE_REPLICAS = KAFKA.gauge(
    "kafka_server_replicamanager_offlinereplicacount", "Replicas of this broker whose log dir has failed."
)
UNDER_REPLICATED = KAFKA.gauge(
    "kafka_server_replicamanager_underreplicatedpartitions",
    "Partitions that this broker leads and that have replicas which are not in sync.",
)
UNDER_MIN_ISR_COUNT = KAFKA.gauge(
    "kafka_server_replicamanager_underminisrpartitioncount",
    "Partitions that this broker leads with fewer in-sync replicas than min.insync.replicas.",
)
ACTIVE_CONTROLLER = KAFKA.gauge(
    "kafka_controller_kafkacontroller_activecontrollercount", "1 at the controller of the cluster, else 0."
)
OFFLINE_PARTITIONS = KAFKA.gauge(
    "kafka_controller_kafkacontroller_offlinepartitionscount",
    "Partitions of the cluster without a leader, told by the controller; 0 at other brokers.",
)
OFFLINE_LOG_DIRS = KAFKA.gauge(
    "kafka_log_logmanager_offlinelogdirectorycount", "Directories of log.dirs that have failed."
)
NETWORK_IDLE = KAFKA.gauge(
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "Share of time, 0 to 1, that the reactor waits for events, since the scrape before. One thread does the "
    "work of Apache Kafka's network threads and request handlers.",
)
HANDLER_IDLE = KAFKA.gauge(
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "The same as kafka_network_socketserver_networkprocessoravgidle_percent.",
)
CONNECTION_COUNT = KAFKA.gauge(
    "kafka_server_socket_server_metrics_connection_count", "Open connections of a listener.", "listener"
)
CONNECTION_CREATION = KAFKA.counter(
    "kafka_server_socket_server_metrics_connection_creation_total",
    "Connections that a listener has accepted.",
    "listener",
)
REQUESTS = KAFKA.counter(
    "kafka_network_requestmetrics_requests_total", "Requests by API and version.", "request", "version"
)
ERRORS = KAFKA.counter(
    "kafka_network_requestmetrics_errors_total",
    "Requests that were refused as a whole, by API and error.",
    "request",
    "error",
)
DISK_READ = KAFKA.gauge(
    "kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes that the process has had read from disks."
)
DISK_WRITTEN = KAFKA.gauge(
    "kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes that the process has had written to disks."
)
