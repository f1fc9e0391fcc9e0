"""The part of the settings table that is about consumer groups and their offsets."""

from __future__ import annotations

from kafkatx.config.table.row import INT_MAX, Section

GROUPS = Section("Consumer groups", "What members of groups may ask for, and how groups settle.")

GROUP_INITIAL_REBALANCE_DELAY_MS = GROUPS.integer(
    "group.initial.rebalance.delay.ms",
    3000,
    "How long an empty group waits for more members after the first has joined; each that comes makes it "
    "wait as long again, at most its members' rebalance time-out. The sample file sets 0, as Apache Kafka's "
    "does: members of a group on one machine start together, and need not wait for each other.",
    low=0,
    unit="ms",
    sample="0",
)
GROUP_MIN_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.min.session.timeout.ms",
    6000,
    "The shortest session time-out that a member may ask for.",
    low=1,
    unit="ms",
)
GROUP_MAX_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.max.session.timeout.ms",
    1_800_000,
    "The longest session time-out that a member may ask for.",
    low=1,
    unit="ms",
)
GROUP_MAX_SIZE = GROUPS.integer("group.max.size", INT_MAX, "How many members a group may have.", low=1)
GROUP_MEMBER_MAX_BYTES = GROUPS.integer(
    "kafkatx.group.member.max.bytes",
    1 << 20,
    "How much memory a member of a group may take: ids, subscription, metadata of its protocols. One that "
    "wants more is refused with GROUP_MAX_SIZE_REACHED.",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUP_MAX_BYTES = GROUPS.integer(
    "kafkatx.group.max.bytes",
    16 << 20,
    "How much memory the members of one group may take, with their assignments. Who would make it more is "
    "refused with GROUP_MAX_SIZE_REACHED.",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUPS_MAX_BYTES = GROUPS.integer(
    "kafkatx.groups.max.bytes",
    128 << 20,
    "How much memory all groups may take, without committed offsets. Who would make it more is refused with "
    "GROUP_MAX_SIZE_REACHED, until sessions end or, at offsets.retention.check.interval.ms, groups without "
    "members and offsets go.",
    low=1,
    unit="bytes",
    dynamic=True,
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = GROUPS.names(
    "group.coordinator.rebalance.protocols",
    ("classic", "consumer"),
    "Which group protocols are offered: classic (JoinGroup), consumer (KIP-848).",
    choices=("classic", "consumer"),
    empty=False,
)

CONSUMER_GROUPS = Section("Groups of the consumer protocol", "KIP-848: the broker assigns the partitions.")

GROUP_CONSUMER_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.session.timeout.ms",
    45_000,
    "After so long without a heartbeat a member is removed.",
    low=1,
    unit="ms",
    dynamic=True,
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.heartbeat.interval.ms",
    5000,
    "How often members are told to send a heartbeat.",
    low=1,
    unit="ms",
    dynamic=True,
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.min.session.timeout.ms",
    45_000,
    "The shortest consumer.session.timeout.ms that a group may have for itself.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = CONSUMER_GROUPS.integer(
    "group.consumer.max.session.timeout.ms",
    60_000,
    "The longest consumer.session.timeout.ms that a group may have for itself.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.min.heartbeat.interval.ms",
    5000,
    "The shortest consumer.heartbeat.interval.ms that a group may have for itself.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = CONSUMER_GROUPS.integer(
    "group.consumer.max.heartbeat.interval.ms",
    15_000,
    "The longest consumer.heartbeat.interval.ms that a group may have for itself.",
    low=1,
    unit="ms",
)
GROUP_CONSUMER_MAX_SIZE = CONSUMER_GROUPS.integer(
    "group.consumer.max.size", INT_MAX, "How many members such a group may have.", low=1
)
GROUP_CONSUMER_ASSIGNORS = CONSUMER_GROUPS.names(
    "group.consumer.assignors",
    ("uniform", "range"),
    "The assignors that members may choose from; the first is the default.",
    choices=("uniform", "range"),
    empty=False,
)
GROUP_CONSUMER_MIGRATION_POLICY = CONSUMER_GROUPS.string(
    "group.consumer.migration.policy",
    "bidirectional",
    "Whether a group may change its protocol while it has members: bidirectional, upgrade (from classic), "
    "downgrade (to classic), disabled.",
    choices=("bidirectional", "upgrade", "downgrade", "disabled"),
)

OFFSETS = Section("Committed offsets", "The topic __consumer_offsets, and how long offsets are kept.")

OFFSETS_TOPIC_NUM_PARTITIONS = OFFSETS.integer(
    "offsets.topic.num.partitions",
    50,
    "Partitions of __consumer_offsets when it is created; a group's partition is the hash of its id.",
    low=1,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = OFFSETS.integer(
    "offsets.topic.replication.factor",
    3,
    "Replicas of __consumer_offsets when it is created; where there are fewer brokers, as many as there are.",
    low=1,
)
OFFSETS_TOPIC_SEGMENT_BYTES = OFFSETS.integer(
    "offsets.topic.segment.bytes",
    100 << 20,
    "segment.bytes of __consumer_offsets when it is created: small ones are compacted, and loaded, sooner.",
    low=1,
    unit="bytes",
)
OFFSETS_RETENTION_MINUTES = OFFSETS.integer(
    "offsets.retention.minutes",
    10_080,
    "Offsets of a group are kept so long after it lost its last member; those that were committed without "
    "a group, so long after the commit.",
    low=1,
    unit="minutes",
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = OFFSETS.long(
    "offsets.retention.check.interval.ms",
    600_000,
    "How often offsets are looked for that are to go.",
    low=1,
    unit="ms",
)
OFFSET_METADATA_MAX_BYTES = OFFSETS.integer(
    "offset.metadata.max.bytes",
    4096,
    "The longest metadata string of a committed offset.",
    low=0,
    unit="bytes",
)

SECTIONS = (GROUPS, CONSUMER_GROUPS, OFFSETS)
"""This part of the table."""
