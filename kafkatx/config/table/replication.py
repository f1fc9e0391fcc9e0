"""The part of the settings table about copies of partitions: followers, in-sync replicas and elections.

Names and defaults are those of Apache Kafka 3.9.
"""

from __future__ import annotations

from kafkatx.config.table.row import LONG_MAX, ConfigType, Section

REPLICATION = Section("Replication", "How the brokers of a cluster copy partitions and elect their leaders.")

INTER_BROKER_LISTENER_NAME = REPLICATION.optional_string(
    "inter.broker.listener.name",
    "Name of the listener for other brokers; the first one by default. Only its connections may fetch as a "
    "replica.",
)
SECURITY_INTER_BROKER_PROTOCOL = REPLICATION.optional_string(
    "security.inter.broker.protocol",
    "In place of `inter.broker.listener.name`: the listener for other brokers is the one of this name, "
    "for example SASL_SSL.",
)
REPLICA_LAG_TIME_MAX_MS = REPLICATION.long(
    "replica.lag.time.max.ms",
    30_000,
    "Time after which a follower that has not caught up with its leader leaves the in-sync replicas.",
    low=1,
    unit="ms",
)
REPLICA_FETCH_WAIT_MAX_MS = REPLICATION.integer(
    "replica.fetch.wait.max.ms",
    500,
    "Longest time that a leader waits for new records before it answers a follower's fetch; less than "
    "replica.lag.time.max.ms.",
    low=0,
    unit="ms",
)
REPLICA_FETCH_MIN_BYTES = REPLICATION.integer(
    "replica.fetch.min.bytes", 1, "Bytes that a follower waits for in one fetch.", low=0, unit="bytes"
)
REPLICA_FETCH_MAX_BYTES = REPLICATION.integer(
    "replica.fetch.max.bytes",
    1_048_576,
    "Bytes that a follower asks for of one partition. A larger first batch is sent whole.",
    low=0,
    unit="bytes",
)
REPLICA_FETCH_RESPONSE_MAX_BYTES = REPLICATION.integer(
    "replica.fetch.response.max.bytes",
    10_485_760,
    "Bytes that a follower asks for in one fetch.",
    low=0,
    unit="bytes",
)
REPLICA_FETCH_BACKOFF_MS = REPLICATION.integer(
    "replica.fetch.backoff.ms",
    1000,
    "Pause of a follower after a fetch that failed.",
    low=0,
    unit="ms",
)
REPLICA_SOCKET_TIMEOUT_MS = REPLICATION.integer(
    "replica.socket.timeout.ms",
    30_000,
    "Time after which a follower takes it that a leader does not answer; more than "
    "replica.fetch.wait.max.ms.",
    low=1,
    unit="ms",
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = REPLICATION.long(
    "replica.high.watermark.checkpoint.interval.ms",
    5000,
    "Interval at which the high watermarks are written to the disk.",
    low=1,
    unit="ms",
)
BY_RACK, _BY_LEADER = "RackAwareReplicaSelector", "LeaderSelector"
_SELECTORS = "org.apache.kafka.common.replica."


def _read_selector(text: str) -> str | None:
    name = text.strip().removeprefix(_SELECTORS)
    if name not in ("", BY_RACK, _BY_LEADER):
        raise ValueError(text)
    return text.strip() or None


REPLICA_SELECTOR_CLASS = REPLICATION.parsed(
    "replica.selector.class",
    ConfigType.STRING,
    None,
    f"{BY_RACK}, or Apache Kafka's full name of it, lets consumers read from an in-sync replica in "
    "their own rack (client.rack). By default they read from the leader.",
    _read_selector,
    f"{BY_RACK} or {_BY_LEADER}",
)


AUTO_LEADER_REBALANCE_ENABLE = REPLICATION.boolean(
    "auto.leader.rebalance.enable",
    True,
    "Give leadership back to the preferred (first) replicas, at intervals, where a broker lacks much of what "
    "it should lead.",
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE = REPLICATION.integer(
    "leader.imbalance.per.broker.percentage",
    10,
    "Share of the partitions that prefer a broker and are led by another, above which they are given back.",
    low=0,
    high=100,
    unit="%",
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = REPLICATION.long(
    "leader.imbalance.check.interval.seconds",
    300,
    "Interval at which the controller looks for brokers that lead too little.",
    low=1,
    unit="s",
)
CONTROLLED_SHUTDOWN_ENABLE = REPLICATION.boolean(
    "controlled.shutdown.enable", True, "Move the leadership of partitions away before a broker stops."
)
CONTROLLED_SHUTDOWN_MAX_RETRIES = REPLICATION.integer(
    "controlled.shutdown.max.retries",
    3,
    "Number of pauses of controlled.shutdown.retry.backoff.ms for which a stopping broker waits until it "
    "leads nothing that another broker can lead.",
    low=0,
)
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS = REPLICATION.long(
    "controlled.shutdown.retry.backoff.ms", 5000, "Length of such a pause.", low=1, unit="ms"
)
LEADER_REPLICATION_THROTTLED_RATE = REPLICATION.long(
    "leader.replication.throttled.rate",
    LONG_MAX,
    "Bytes per second that this broker sends to followers of throttled partitions that are not in sync.",
    low=0,
    unit="bytes/s",
    dynamic=True,
)
FOLLOWER_REPLICATION_THROTTLED_RATE = REPLICATION.long(
    "follower.replication.throttled.rate",
    LONG_MAX,
    "Bytes per second that this broker fetches of throttled partitions for which it is not in sync.",
    low=0,
    unit="bytes/s",
    dynamic=True,
)
MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = REPLICATION.integer(
    "max.incremental.fetch.session.cache.slots",
    1000,
    "Fetch sessions that the broker remembers; other clients name all their partitions in each fetch.",
    low=0,
)

SECTIONS = (REPLICATION,)
