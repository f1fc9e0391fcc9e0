"""kafkatx's own metrics."""

from __future__ import annotations

from kafkatx.broker.metrics.table.row import Family

OWN = Family("kafkatx", "kafkatx's own: what the other names have no place for.")

# --- the broker

INFO = OWN.gauge(
    "kafkatx_info", "1, with the version and the ids of broker and cluster.", "version", "broker", "cluster"
)
FENCED = OWN.gauge("kafkatx_fenced", "1 if the broker may act on no partition: its lease has ended.")
LEFT_OUT = OWN.gauge(
    "kafkatx_metrics_left_out",
    "Topics, partitions, groups, partitions of groups and clients that have no series of their own, by the "
    'settings kafkatx.metrics.max.*: their sums, but for clients, are in the series "(others)".',
    "kind",
)
SERIES = OWN.gauge("kafkatx_metrics_series", "Samples of the scrape before this one.")
SCRAPE_SECONDS = OWN.gauge("kafkatx_metrics_scrape_seconds", "Time that the scrape before this one took.")
SCRAPE_LONGEST = OWN.gauge(
    "kafkatx_metrics_scrape_longest_turn_seconds",
    "Longest time for which the scrape before this one has held up the reactor.",
)

# --- the reactor

REACTOR_IDLE = OWN.counter("kafkatx_reactor_idle_seconds_total", "Time that the reactor waited for events.")
REACTOR_BUSY = OWN.counter("kafkatx_reactor_busy_seconds_total", "Time that the reactor worked.")
REACTOR_TURNS = OWN.counter("kafkatx_reactor_turns_total", "Turns of the reactor.")
REACTOR_SLOW_TURNS = OWN.counter(
    "kafkatx_reactor_slow_turns_total", "Turns of more than 0.1 s: no client was answered meanwhile."
)

# --- connections and requests

PENDING_REQUESTS = OWN.gauge(
    "kafkatx_connections_serving", "Connections with a request that is being served."
)
REQUEST_MEMORY = OWN.gauge(
    "kafkatx_request_memory_bytes",
    "Bytes of requests that wait or are incomplete; see queued.max.request.bytes.",
)
REQUEST_MEMORY_EXHAUSTED = OWN.gauge(
    "kafkatx_request_memory_exhausted", "1 if connections are read in turns, because memory is short."
)
PARKED_FETCHES = OWN.gauge("kafkatx_parked_fetches", "Fetch requests of consumers that wait for records.")
PARKED_REPLICA_FETCHES = OWN.gauge(
    "kafkatx_parked_replica_fetches", "Fetch requests of followers that wait for records."
)
WAITING_WRITERS = OWN.gauge(
    "kafkatx_partitions_with_waiting_writers", "Partitions where writes with acks=all wait for replicas."
)
COLD_READS = OWN.counter(
    "kafkatx_cold_reads_total", "Reads of fetch requests that were not in the page cache."
)
HTTP_REQUESTS = OWN.counter("kafkatx_http_requests_total", "Requests at the HTTP listener.", "status")
HTTP_CONNECTIONS = OWN.gauge("kafkatx_http_connections", "Open connections of the HTTP listener.")
CERTIFICATE_END = OWN.gauge(
    "kafkatx_certificate_not_after_seconds",
    "End of the first certificate of a listener's chain to expire, in seconds since 1970.",
    "listener",
)

# --- logs

LOG_WRITES = OWN.counter("kafkatx_log_writes_total", "Writes to logs.")
LOG_BATCHES = OWN.counter(
    "kafkatx_log_batches_total", "Batches in these writes: divided by the writes, the batches of one write."
)
LOG_SYNCS = OWN.counter("kafkatx_log_syncs_total", "Syncs of logs to the disk.")
LOG_SYNC_SECONDS = OWN.counter("kafkatx_log_sync_seconds_total", "Time that these syncs have taken.")
LOG_DIR_FREE = OWN.gauge("kafkatx_log_dir_free_bytes", "Free bytes of the file system of a log dir.", "dir")
LOG_DIR_SIZE = OWN.gauge("kafkatx_log_dir_size_bytes", "Size of the file system of a log dir.", "dir")
CLEANER_LOGS = OWN.gauge("kafkatx_cleaner_logs", "Compacted logs.")
CLEANER_DIRTY = OWN.gauge(
    "kafkatx_cleaner_dirty_bytes", "Bytes of closed segments of compacted logs that no pass has cleaned."
)
CLEANER_RATIO = OWN.gauge(
    "kafkatx_cleaner_max_dirty_ratio", "The largest share of such bytes in a compacted log."
)

# --- replication

REPLICA_LAG = OWN.gauge(
    "kafkatx_replica_max_lag_records",
    "Most offsets that a broker's replicas lack of the partitions that this broker leads.",
    "replica",
)
REPLICA_LAG_SECONDS = OWN.gauge(
    "kafkatx_replica_max_lag_seconds",
    "Longest time since a broker's replica had all of its leader.",
    "replica",
)
OUT_OF_SYNC = OWN.gauge(
    "kafkatx_replicas_out_of_sync", "Replicas of a broker that are not in sync with this broker.", "replica"
)

# --- groups

GROUPS = OWN.gauge(
    "kafkatx_groups", "Groups that this broker coordinates, by protocol and state.", "type", "state"
)
GROUP_LAG_SECONDS = OWN.gauge(
    "kafkatx_group_lag_seconds",
    "Age of the oldest record that a group has not committed in a topic, by the timestamp of its batch; 0 if "
    "there is none.",
    "consumergroup",
    "topic",
)
GROUPS_WITHOUT_LAG = OWN.gauge(
    "kafkatx_group_partitions_without_lag",
    "Committed offsets in partitions of which this broker has no replica: their lag is not known here.",
)

# --- transactions

TRANSACTIONS = OWN.gauge(
    "kafkatx_transactional_ids", "Transactional ids that this broker coordinates, by state.", "state"
)
TRANSACTION_OLDEST = OWN.gauge(
    "kafkatx_transaction_oldest_seconds", "Age of the oldest transaction that is open at this coordinator."
)
HELD_BACK = OWN.gauge(
    "kafkatx_partitions_held_back",
    "Partitions of this leader where an open transaction holds back consumers with read_committed.",
)
HANGING = OWN.gauge(
    "kafkatx_transactions_hanging",
    "Those of them where it is older than transaction.max.timeout.ms: see kafkatx transactions hanging.",
)

# --- mirrors

MIRROR_PARTITIONS = OWN.gauge(
    "kafkatx_mirror_partitions", "Mirrored partitions that this broker leads.", "link", "state"
)
MIRROR_LAG = OWN.gauge(
    "kafkatx_mirror_lag_records", "Sum of the offsets that mirrored partitions lack.", "link"
)
MIRROR_LAG_SECONDS = OWN.gauge(
    "kafkatx_mirror_max_lag_seconds",
    "Longest time for which a mirrored partition was behind its source.",
    "link",
)
MIRROR_BYTES = OWN.gauge(
    "kafkatx_mirror_copied_bytes", "Bytes copied since this broker leads the partitions, in all.", "link"
)
LINK_UP = OWN.gauge("kafkatx_mirror_link_up", "1 if the source of a link is reached.", "link")

# --- metrics that clients push

CLIENT_INSTANCES = OWN.gauge(
    "kafkatx_client_instances", "Clients that a subscription to metrics of clients was looked up for."
)
CLIENT_PUSHES = OWN.counter("kafkatx_client_pushes_total", "Pushes of metrics by clients that were taken.")
CLIENT_REFUSED = OWN.counter("kafkatx_client_refused_pushes_total", "Pushes of metrics that were refused.")
CLIENT_VALUES = OWN.gauge("kafkatx_client_values", "Values that clients have pushed and that are kept.")
CLIENT_DROPPED = OWN.gauge(
    "kafkatx_client_dropped_values",
    "Values of the last pushes that were not kept: see kafkatx.telemetry.max.values.",
)
CLIENT_INFO = OWN.gauge(
    "kafkatx_client_info",
    "1 for each client that pushes metrics; those are named kafka_client_*, with the same two ids.",
    "client_id",
    "client_instance_id",
    "software_name",
    "software_version",
    "address",
    "principal",
)
