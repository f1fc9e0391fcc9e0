"""The alert rules of Prometheus, ``etc/prometheus/alerts.yml``. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

import attrs

from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o


@attrs.frozen
class Alert:
    """A rule.

    :ivar expression: in PromQL; it is true for each series that should alert.
    :ivar wait: how long it must be true, as Prometheus writes times.
    :ivar summary: what is wrong, with labels in ``{{ }}``.
    :ivar description: what to do.
    """

    name: str
    expression: str
    wait: str
    severity: str
    summary: str
    description: str


BROKER = "broker {{ $labels.instance }}"

ALERTS: Sequence[Alert] = (
    Alert(
        "KafkaTXBrokerDown",
        'up{job="kafkatx"} == 0',
        "1m",
        "critical",
        f"{BROKER} does not answer",
        "See the broker's log, and whether the process runs: kafkatx status.",
    ),
    Alert(
        "KafkaTXBrokerFenced",
        f"{o.FENCED.name} == 1",
        "1m",
        "critical",
        f"{BROKER} has lost its connection to the state of the cluster",
        "It leads no partition until it is back: check ZooKeeper, or the host of the state.",
    ),
    Alert(
        "KafkaTXNoController",
        f"sum({k.ACTIVE_CONTROLLER.name}) != 1",
        "1m",
        "critical",
        "the cluster has {{ $value }} controllers",
        "No topic or leader can change without one: check that all brokers reach the state of the cluster.",
    ),
    Alert(
        "KafkaTXOfflinePartitions",
        f"sum({k.OFFLINE_PARTITIONS.name}) > 0",
        "1m",
        "critical",
        "{{ $value }} partitions have no leader",
        "Start the brokers that have their replicas: kafkatx cluster health names them.",
    ),
    Alert(
        "KafkaTXUnderMinIsr",
        f"{k.UNDER_MIN_ISR_COUNT.name} > 0",
        "1m",
        "critical",
        f"{{{{ $value }}}} partitions of {BROKER} refuse writes with acks=all",
        "They have fewer in-sync replicas than min.insync.replicas: kafkatx cluster health names them.",
    ),
    Alert(
        "KafkaTXUnderReplicated",
        f"{k.UNDER_REPLICATED.name} > 0",
        "5m",
        "warning",
        f"{{{{ $value }}}} partitions of {BROKER} lack in-sync replicas",
        f"See which broker is behind: {o.OUT_OF_SYNC.name} and {o.REPLICA_LAG_SECONDS.name} by replica.",
    ),
    Alert(
        "KafkaTXLogDirOffline",
        f"{k.OFFLINE_LOG_DIRS.name} > 0",
        "0m",
        "critical",
        f"{{{{ $value }}}} log dirs of {BROKER} have failed",
        "The broker's log has the error. Repair or replace the disk, and restart the broker.",
    ),
    Alert(
        "KafkaTXDiskNearlyFull",
        f"{o.LOG_DIR_FREE.name} / {o.LOG_DIR_SIZE.name} < 0.15",
        "5m",
        "warning",
        f"log dir {{{{ $labels.dir }}}} of {BROKER} has {{{{ $value | humanizePercentage }}}} free",
        "Shorten retention.ms of large topics, or add a disk to log.dirs: kafkatx logdirs shows the largest.",
    ),
    Alert(
        "KafkaTXReactorSaturated",
        f"rate({o.REACTOR_IDLE.name}[5m]) < 0.1",
        "10m",
        "warning",
        f"{BROKER} is busy for more than 90 % of the time",
        "One thread does all work: move partitions to another broker, or have clients send larger batches.",
    ),
    Alert(
        "KafkaTXRequestMemoryExhausted",
        f"avg_over_time({o.REQUEST_MEMORY_EXHAUSTED.name}[5m]) > 0.5",
        "5m",
        "warning",
        f"{BROKER} reads from its clients in turns: its request memory is used up",
        "Raise queued.max.request.bytes, or have clients send smaller requests.",
    ),
    Alert(
        "KafkaTXSlowSyncs",
        f"rate({o.LOG_SYNC_SECONDS.name}[5m]) / (rate({o.LOG_SYNCS.name}[5m]) > 0) > 1",
        "10m",
        "warning",
        f"syncs of {BROKER} take {{{{ $value | humanizeDuration }}}} each",
        "The disk is slow or shared: writes with flush.messages, and segments that end, wait for it.",
    ),
    Alert(
        "KafkaTXGroupLag",
        f"max by (consumergroup, topic) ({o.GROUP_LAG_SECONDS.name}) > 600",
        "10m",
        "warning",
        "group {{ $labels.consumergroup }} is {{ $value | humanizeDuration }} behind in {{ $labels.topic }}",
        "See its members and lag: kafkatx groups describe {{ $labels.consumergroup }}.",
    ),
    Alert(
        "KafkaTXGroupStuck",
        f"sum by (consumergroup, topic) ({e.GROUP_LAG_SUM.name}) > 0 and "
        f"sum by (consumergroup, topic) (changes({e.GROUP_OFFSET_SUM.name}[15m])) == 0",
        "15m",
        "warning",
        "group {{ $labels.consumergroup }} has records to read in {{ $labels.topic }}, and commits nothing",
        "A consumer may hang at one record, or the group has no members: kafkatx groups describe.",
    ),
    Alert(
        "KafkaTXHangingTransactions",
        f"{o.HANGING.name} > 0",
        "5m",
        "warning",
        f"{{{{ $value }}}} transactions hang in partitions of {BROKER}",
        "Consumers with read_committed wait: kafkatx transactions hanging names them, abort ends them.",
    ),
    Alert(
        "KafkaTXMirrorBehind",
        f"{o.MIRROR_LAG_SECONDS.name} > 300",
        "5m",
        "warning",
        f"link {{{{ $labels.link }}}} of {BROKER} is {{{{ $value | humanizeDuration }}}} behind",
        "See its partitions and reasons: kafkatx mirror status.",
    ),
    Alert(
        "KafkaTXMirrorLinkDown",
        f"{o.LINK_UP.name} == 0",
        "5m",
        "warning",
        f"{BROKER} does not reach the source of link {{{{ $labels.link }}}}",
        "kafkatx mirror status has the reason.",
    ),
    Alert(
        "KafkaTXCertificateExpires",
        f"{o.CERTIFICATE_END.name} - time() < 14 * 86400",
        "1h",
        "warning",
        f"the certificate of listener {{{{ $labels.listener }}}} of {BROKER} expires in "
        "{{ $value | humanizeDuration }}",
        "Put a new keystore in its place: the broker takes it over without a restart.",
    ),
    Alert(
        "KafkaTXMetricsLeftOut",
        f"max by (kind) ({o.LEFT_OUT.name}) > 0",
        "1h",
        "info",
        "{{ $value }} {{ $labels.kind }} have no series of their own",
        "Raise kafkatx.metrics.max.* if you need them.",
    ),
)

_HEAD = """\
# Alerts on the metrics of kafkatx, for rule_files in prometheus.yml: see `kafkatx docs monitoring`.
# Generated: make documents writes this file.
groups:
  - name: kafkatx
    rules:
"""


def alerts_page() -> str:
    """Return the file in YAML; JSON's strings are YAML's."""
    return _HEAD + "".join(map(_rule, ALERTS))


def _rule(alert: Alert) -> str:
    return (
        f"      - alert: {alert.name}\n"
        f"        expr: {json.dumps(alert.expression)}\n"
        f"        for: {alert.wait}\n"
        f"        labels:\n"
        f"          severity: {alert.severity}\n"
        f"        annotations:\n"
        f"          summary: {json.dumps(alert.summary)}\n"
        f"          description: {json.dumps(alert.description)}\n"
    )
