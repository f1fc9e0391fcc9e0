"""The part of the settings table about coordinators: consumer groups, their offsets, and transactions."""

from __future__ import annotations

from kafkatx.config.table.row import INT_MAX, Section

GROUPS = Section("Consumer groups", "Limits for members, and the timing of rebalances.")

GROUP_INITIAL_REBALANCE_DELAY_MS = GROUPS.integer(
    "group.initial.rebalance.delay.ms",
    3000,
    "Time that an empty group waits for more members after the first has joined; each new member "
    "extends it by as long again, up to the members' rebalance time-out. The sample file sets 0, as "
    "Apache Kafka's does: members on one machine start together and need not wait for each other.",
    low=0,
    unit="ms",
    sample="0",
)
GROUP_MIN_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.min.session.timeout.ms",
    6000,
    "Minimum session time-out of a member.",
    low=1,
    unit="ms",
)
GROUP_MAX_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.max.session.timeout.ms",
    1_800_000,
    "Maximum session time-out of a member.",
    low=1,
    unit="ms",
)
GROUP_MAX_SIZE = GROUPS.integer("group.max.size", INT_MAX, "Maximum number of members in a group.", low=1)
GROUP_MEMBER_MAX_BYTES = GROUPS.integer(
    "kafkatx.group.member.max.bytes",
    1 << 20,
    "Maximum memory of one member: its ids, subscription and protocol metadata. A larger member is "
    "refused with GROUP_MAX_SIZE_REACHED.",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUP_MAX_BYTES = GROUPS.integer(
    "kafkatx.group.max.bytes",
    16 << 20,
    "Maximum memory of the members of one group, with their assignments. A member that would exceed "
    "it is refused with GROUP_MAX_SIZE_REACHED.",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUPS_MAX_BYTES = GROUPS.integer(
    "kafkatx.groups.max.bytes",
    128 << 20,
    "Maximum memory of all groups, without committed offsets. A member that would exceed it is "
    "refused with GROUP_MAX_SIZE_REACHED, until sessions end, or groups without members and offsets "
    "are removed (every offsets.retention.check.interval.ms).",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = GROUPS.names(
    "group.coordinator.rebalance.protocols",
    ("classic", "consumer"),
    "Supported group protocols: classic (JoinGroup), consumer (KIP-848).",
    choices=("classic", "consumer"),
    empty=False,
)

CONSUMER_GROUPS = Section("Groups of the consumer protocol", "KIP-848: the broker assigns the partitions.")

GROUP_CONSUMER_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.session.timeout.ms",
    45_000,
    "Time without a heartbeat after which a member is removed.",
    low=1,
    unit="ms",
    dynamic=True,
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.heartbeat.interval.ms",
    5000,
    "Interval at which members send heartbeats.",
    low=1,
    unit="ms",
    dynamic=True,
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.min.session.timeout.ms",
    45_000,
    "Minimum consumer.session.timeout.ms of a group.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.max.session.timeout.ms",
    60_000,
    "Maximum consumer.session.timeout.ms of a group.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.min.heartbeat.interval.ms",
    5000,
    "Minimum consumer.heartbeat.interval.ms of a group.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.max.heartbeat.interval.ms",
    15_000,
    "Maximum consumer.heartbeat.interval.ms of a group.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_SIZE = CONSUMER_GROUPS.integer(
    "group.consumer.max.size",
    INT_MAX,
    "Maximum number of members in a group of the consumer protocol.",
    low=1,
)
GROUP_CONSUMER_ASSIGNORS = CONSUMER_GROUPS.names(
    "group.consumer.assignors",
    ("uniform", "range"),
    "Assignors that members may choose; the first is the default.",
    choices=("uniform", "range"),
    empty=False,
)
GROUP_CONSUMER_MIGRATION_POLICY = CONSUMER_GROUPS.string(
    "group.consumer.migration.policy",
    "bidirectional",
    "Protocol changes allowed for a group with members: bidirectional, upgrade (from classic), "
    "downgrade (to classic), disabled.",
    choices=("bidirectional", "upgrade", "downgrade", "disabled"),
)

OFFSETS = Section("Committed offsets", "The topic __consumer_offsets, and the retention of offsets.")

OFFSETS_TOPIC_NUM_PARTITIONS = OFFSETS.integer(
    "offsets.topic.num.partitions",
    50,
    "Partitions of __consumer_offsets when it is created; the partition of a group is the hash of its id.",
    low=1,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = OFFSETS.integer(
    "offsets.topic.replication.factor",
    3,
    "Replicas of __consumer_offsets when it is created; fewer if the cluster has fewer brokers then.",
    low=1,
)
OFFSETS_TOPIC_SEGMENT_BYTES = OFFSETS.integer(
    "offsets.topic.segment.bytes",
    100 << 20,
    "segment.bytes of __consumer_offsets when it is created; smaller segments are compacted and "
    "loaded sooner.",
    low=1,
    unit="bytes",
)
OFFSETS_RETENTION_MINUTES = OFFSETS.integer(
    "offsets.retention.minutes",
    10_080,
    "Time for which a group's offsets are kept after its last member has left; offsets committed "
    "without a group are kept this long after the commit.",
    low=1,
    unit="minutes",
)
OFFSETS_COMMIT_TIMEOUT_MS = OFFSETS.integer(
    "offsets.commit.timeout.ms",
    5000,
    "Time after which a commit of offsets that was not copied to all in-sync replicas fails.",
    low=1,
    unit="ms",
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = OFFSETS.long(
    "offsets.retention.check.interval.ms",
    600_000,
    "Interval between checks for expired offsets.",
    low=1,
    unit="ms",
)
OFFSET_METADATA_MAX_BYTES = OFFSETS.integer(
    "offset.metadata.max.bytes",
    4096,
    "Maximum length of the metadata string of a committed offset.",
    low=0,
    unit="bytes",
)

TRANSACTIONS = Section("Transactions", "Limits for producers with a transactional.id, and their topic.")

TRANSACTION_MAX_TIMEOUT_MS = TRANSACTIONS.integer(
    "transaction.max.timeout.ms",
    900_000,
    "Maximum transaction.timeout.ms of a producer. A producer that asks for more is refused with "
    "INVALID_TRANSACTION_TIMEOUT: Flink's sink asks for one hour unless told otherwise.",
    low=1,
    unit="ms",
)
TRANSACTIONAL_ID_EXPIRATION_MS = TRANSACTIONS.integer(
    "transactional.id.expiration.ms",
    604_800_000,
    "Time after which a transactional id without a transaction is forgotten if it was not used.",
    low=1,
    unit="ms",
)
TRANSACTION_ABORT_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    "Interval between looks for transactions whose time-out has passed; they are aborted.",
    low=1,
    unit="ms",
)
TRANSACTION_EXPIRY_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    "Interval between looks for transactional ids that have expired.",
    low=1,
    unit="ms",
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE = TRANSACTIONS.boolean(
    "transaction.partition.verification.enable",
    True,
    "Ask the transaction coordinator before the first batch of a transaction in a partition (KIP-890).",
    dynamic=True,
)
TRANSACTIONS_MAX_BYTES = TRANSACTIONS.integer(
    "kafkatx.transactions.max.bytes",
    128 << 20,
    "Maximum memory of all transactional ids that this broker coordinates, with the partitions of their "
    "transactions. A new id, or a new partition of a transaction, that would exceed it is refused with "
    "POLICY_VIOLATION.",
    low=1,
    unit="bytes",
    dynamic=True,
)
TRANSACTIONS_LATE_END = TRANSACTIONS.string(
    "kafkatx.transactions.late.end",
    "refuse",
    "What happens to an EndTxn of protocol version 1 that comes over a connection which is older than all "
    "over which partitions were added to the transaction: it was sent for an earlier one. refuse: its "
    "connection is closed; log: it is carried out, as by Apache Kafka, and there is a line in the log.",
    choices=("refuse", "log"),
    dynamic=True,
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = TRANSACTIONS.integer(
    "transaction.state.log.num.partitions",
    50,
    "Partitions of __transaction_state when it is created; the partition of a transactional id is the hash "
    "of the id.",
    low=1,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = TRANSACTIONS.integer(
    "transaction.state.log.replication.factor",
    3,
    "Replicas of __transaction_state when it is created; fewer if the cluster has fewer brokers then.",
    low=1,
)
TRANSACTION_STATE_LOG_MIN_ISR = TRANSACTIONS.integer(
    "transaction.state.log.min.isr",
    2,
    "min.insync.replicas of __transaction_state when it is created; at most the number of its replicas.",
    low=1,
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = TRANSACTIONS.integer(
    "transaction.state.log.segment.bytes",
    100 << 20,
    "segment.bytes of __transaction_state when it is created; smaller segments are compacted and loaded "
    "sooner.",
    low=1,
    unit="bytes",
)

SECTIONS = (GROUPS, CONSUMER_GROUPS, OFFSETS, TRANSACTIONS)
"""This part of the table."""
