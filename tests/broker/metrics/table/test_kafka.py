"""The names of Strimzi's dashboard and alerts for Kafka: which are served, and which are not."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.table import METRICS
from kafkatx.broker.metrics.table.kafka import KAFKA

DASHBOARD = [
    "kafka_cluster_partition_atminisr",
    "kafka_cluster_partition_underminisr",
    "kafka_controller_controllerstats_uncleanleaderelections_total",
    "kafka_controller_kafkacontroller_activecontrollercount",
    "kafka_controller_kafkacontroller_offlinepartitionscount",
    "kafka_log_log_size",
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "kafka_server_brokertopicmetrics_bytesin_total",
    "kafka_server_brokertopicmetrics_bytesout_total",
    "kafka_server_brokertopicmetrics_failedfetchrequests_total",
    "kafka_server_brokertopicmetrics_failedproducerequests_total",
    "kafka_server_brokertopicmetrics_messagesin_total",
    "kafka_server_brokertopicmetrics_totalfetchrequests_total",
    "kafka_server_brokertopicmetrics_totalproducerequests_total",
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "kafka_server_kafkaserver_linux_disk_read_bytes",
    "kafka_server_kafkaserver_linux_disk_write_bytes",
    "kafka_server_replicamanager_leadercount",
    "kafka_server_replicamanager_partitioncount",
    "kafka_server_replicamanager_underreplicatedpartitions",
    "kafka_server_socket_server_metrics_connection_count",
    "process_open_fds",
    "container_cpu_usage_seconds_total",
    "container_memory_usage_bytes",
    "jvm_gc_collection_seconds_count",
    "jvm_gc_collection_seconds_sum",
    "jvm_memory_used_bytes",
    "jvm_threads_current",
    "kubelet_volume_stats_available_bytes",
]
"""The series of strimzi-kafka.json, in the version of 2026 with rules of the JMX exporter."""

ALERTS = [
    "kafka_controller_kafkacontroller_activecontrollercount",
    "kafka_controller_kafkacontroller_offlinepartitionscount",
    "kafka_log_logmanager_offlinelogdirectorycount",
    "kafka_server_replicamanager_underminisrpartitioncount",
    "kafka_server_replicamanager_underreplicatedpartitions",
    "container_last_seen",
    "kubelet_volume_stats_available_bytes",
    "kubelet_volume_stats_capacity_bytes",
]
"""The series of prometheus-kafka-rules.yaml."""

OTHERS = ("jvm_", "container_", "kubelet_")
"""Not a broker's: of the Java machine, and of Kubernetes."""

NOT_SERVED = {"kafka_controller_controllerstats_uncleanleaderelections_total"}
"""kafkatx does not count unclean elections."""


class StrimziTests(SynchronousTestCase):
    def test_names(self) -> None:
        """All series of a broker that the dashboard and the alerts ask for are served, but for one."""
        asked = {name for name in DASHBOARD + ALERTS if not name.startswith(OTHERS)}
        self.assertEqual(asked - {metric.name for metric in METRICS}, NOT_SERVED)

    def test_labels(self) -> None:
        """The dashboard chooses topics and partitions by these labels."""
        labels = {metric.name: metric.labels for metric in KAFKA.metrics}
        self.assertEqual(labels["kafka_log_log_size"], ("topic", "partition"))
        self.assertEqual(labels["kafka_server_brokertopicmetrics_bytesin_total"], ("topic",))
        self.assertEqual(labels["kafka_server_socket_server_metrics_connection_count"], ("listener",))
