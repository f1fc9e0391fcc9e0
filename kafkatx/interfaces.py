"""Every interface of the house: what a part promises to the floors above it, and to third parties.

Contract tests that any implementation can run stand in :mod:`kafkatx.testing.contracts`. How an
implementation is made known stands in :mod:`kafkatx.extension`; the arguments its factory is called with
stand here, under "Factory".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

Worker: TypeAlias = Callable[[Callable[[], Any]], "Deferred[Any]"]
"""Runs a function off the reactor thread; calls to one worker run one at a time, in order.

Fires with what the function returned, fails with what it raised. A test passes
``twisted.internet.defer.execute``.
"""

Workers: TypeAlias = Callable[[str], Worker]
"""Gives the worker of a name (a log dir, say); the same name gives the same worker."""


ConfigChange: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From the configs that are there to those that shall be there instead; may raise RequestError.

It is pure: a coordinator may call it more than once, and off the reactor thread.
"""


class IAppended(Interface):
    """What became of one call to :meth:`IPartitionLog.append`."""

    error = Attribute("0, or the protocol's error code (int); then nothing was staged.")
    message = Attribute("str or None: why, for a person.")
    base_offset = Attribute("int: offset of the first record; for a duplicate the original's; -1 on error.")
    last_offset = Attribute("int: offset of the last record, inclusive; -1 on error.")
    log_append_time_ms = Attribute("int: the broker's time if the topic says LogAppendTime, else -1.")
    record_errors = Attribute("Sequence of (index in the batch, message): the records at fault, if known.")


class IPartitionLog(Interface):
    """One partition's records.

    Offsets are dense and increasing. ``append`` stages, ``write`` makes it so: several appends between
    two writes cost one system call. Nothing staged is visible to ``read`` or in ``log_end_offset``.
    Used from the reactor thread only; what blocks runs in the store's workers.
    """

    topic_partition = Attribute("types.TopicPartition")
    config = Attribute("config.log_config.LogConfig; replaced by configure().")
    log_start_offset = Attribute("int: the first offset that can be read.")
    log_end_offset = Attribute("int: the offset that the next record gets, counting written records only.")
    flushed_offset = Attribute("int: all below it has been synced to the disk, as far as is known.")
    size_bytes = Attribute("int: bytes of all segments.")
    segments = Attribute("Sequence of ISegmentFacts, oldest first; the last is the active one.")
    on_flushed = Attribute(
        "Callable[[], None] or None: called after a sync moved flushed_offset; not where write() moves it at "
        "once. Whoever owns the log sets it."
    )

    def append(records: bytes | memoryview, leader_epoch: int, now_ms: int, one_batch: bool) -> IAppended:
        """Validate and stage the records of one produce request for this partition.

        Offsets and leader epoch are stamped without copying the records; *records* must stay unchanged
        until :meth:`write`. Records are not decoded, except where the format forces it: magic 0 and 1,
        a compacted topic (keys), a topic whose compression.type differs from the batch's.

        :param one_batch: Produce v3+: exactly one magic-2 batch, else INVALID_RECORD. False (Produce
            v0-2): one or more messages of magic 0 or 1, stored as they came with offsets assigned.
        :return: :class:`IAppended`. Errors of the input are codes in it, never exceptions:
            CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP,
            OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNSUPPORTED_COMPRESSION_TYPE.
            A duplicate of one of the producer's last five batches is success with the original offsets
            and stages nothing.
        """

    def write() -> None:
        """Write all that is staged, with one ``writev`` where a log is a file.

        :raises OSError: nothing of it is in the log (it was cut back), the staged appends are gone and
            the producers' state is what it was before them. The caller answers KAFKA_STORAGE_ERROR.
        """

    def read(offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Any:
        """Return batches from the one that holds *offset* on, as ``types.Records``; empty at the end.

        :param max_bytes: not more than this, except as *at_least_one* says. Only whole batches: a file
            store may end in the middle of a batch only if the caller could not have got more of it.
        :param end_offset: exclusive; no batch with an offset at or above it is returned.
        :param at_least_one: the first batch is returned whole, however large.
        :raises RequestError: OFFSET_OUT_OF_RANGE unless log_start_offset <= offset <= log_end_offset.
        """

    def readable_bytes(offset: int, end_offset: int) -> int:
        """About how many bytes lie from *offset* to *end_offset* (exclusive); cheap, for min_bytes."""

    def warm(offset: int, max_bytes: int) -> Deferred[None] | None:
        """See to it that a read of *max_bytes* at *offset* does not wait for the disk.

        :return: None: it would not. Else fires when it would not any more; what fails meanwhile the read
            will tell. Cancelling it ends the waiting only.
        """

    def offset_for_timestamp(timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """Find the first record, by offset, at or after a time.

        :return: fires with its (offset, timestamp, leader epoch), or None if there is none; fails with
            OSError, and with CorruptRecords where a batch that may hold it is damaged.
        """

    def max_timestamp() -> Deferred[tuple[int, int, int] | None]:
        """Find the record with the largest timestamp; as :meth:`offset_for_timestamp`, None when empty."""

    def epoch_at(offset: int) -> int:
        """The leader epoch that wrote *offset*; for the log end the latest; -1 when there is none."""

    def end_offset_for_epoch(leader_epoch: int) -> tuple[int, int]:
        """(epoch, exclusive end offset) of the largest epoch not above *leader_epoch*; (-1, -1) if none.

        One from before the first epoch that is known ends where that begins (KIP-320).
        """

    def active_producers() -> Any:
        """Sequence of ``types.ActiveProducer``: the idempotent producers that the log knows of."""

    def configure(config: Any) -> None:
        """Use another ``LogConfig`` from now on."""

    def flush() -> Deferred[int]:
        """Sync to the disk in a worker; fires with the offset up to which (exclusive) all is synced.

        Those who ask while a sync is under way share the one that follows it (group commit).
        """

    def truncate_to(offset: int) -> None:
        """Cut the log so that *offset* is the next to be appended."""

    def advance_log_start(offset: int) -> None:
        """Let no reader see what is below *offset*; whole segments below it go."""

    def retain(now_ms: int) -> int:
        """Let whole segments go as the log's ``IRetentionPolicy`` says; return how many went.

        Files are renamed at once and unlinked later, in a worker.
        """

    def roll_if_due(now_ms: int) -> None:
        """Start a new segment if the active one is older than segment.ms."""


class ILogDir(Interface):
    """One of the directories that a store keeps its logs in."""

    path = Attribute("str: the absolute path, as DescribeLogDirs tells it.")
    error = Attribute("OSError or None: why the dir is offline; nothing in it can be used until a restart.")
    logs = Attribute("Mapping[TopicPartition, IPartitionLog]: the logs that are, or were, in it.")


class ILogStore(Interface):
    """All partition logs of one broker.

    Factory: ``factory(config, workers, clock, find_retention)``: a ``config.BrokerConfig``,
    :data:`Workers`, an ``IReactorTime`` and a callable from a policy's name to an
    :class:`IRetentionPolicy`.
    """

    logs = Attribute("Mapping[TopicPartition, IPartitionLog]: every open log; none of a dir that is offline.")
    dirs = Attribute("Sequence of ILogDir, in the order of log.dirs; empty where there are none.")
    on_offline = Attribute(
        "Callable[[ILogDir], None] or None: called in the reactor thread when a dir has gone offline while "
        "the store is open. Whoever owns the store sets it."
    )

    def open(log_config: Callable[[str], Any]) -> Deferred[None]:
        """Lock the directories, recover every log and open it.

        :param log_config: gives the ``LogConfig`` of a topic's name.
        :return: fails with SettingError where a directory is locked by another broker, or none can be
            used. One that cannot be used is offline if others can.
        """

    def configure(config: Any) -> None:
        """Use another ``BrokerConfig`` from now on, for what is not a log's own."""

    def check(config: Any) -> None:
        """See whether a log could have a ``LogConfig``.

        :raises SettingError: it names a part that there is not (``kafkatx.retention``).
        """

    def create(topic_partition: Any, topic_id: Any, config: Any) -> Deferred[IPartitionLog]:
        """Make the log of a partition, or give the one that is there for this topic id.

        What stands in its place from a deleted topic (another topic id) is put aside first.
        """

    def topic_id(topic_partition: Any) -> Any:
        """The ``uuid.UUID`` that an open log was created with."""

    def delete(topic_partition: Any) -> Deferred[None]:
        """Take a log away at once; its files go in a worker. Nothing happens if there is none."""

    def clean(now_ms: int) -> Deferred[bool]:
        """Compact the log that needs it most, of those with ``cleanup.policy=compact``.

        Fires with whether one was compacted: there may be more to do then. What is wrong with a log is told
        in the broker's log.
        """

    def checkpoint() -> Deferred[None]:
        """Write the recovery points and log starts down, in a worker."""

    def checkpoint_log_start(topic_partition: Any) -> Deferred[None]:
        """Write down where a log starts: after this fires, what lies before never comes back.

        Fails with OSError where that cannot be done, or there is no such log any more.
        """

    def close() -> Deferred[None]:
        """Flush every log, write the clean-shutdown markers and unlock the directories."""


class ISegmentFacts(Interface):
    """What a retention policy may look at."""

    base_offset = Attribute("int")
    size_bytes = Attribute("int")
    max_timestamp_ms = Attribute(
        "int: the largest timestamp of its records, or the file's mtime if none has one."
    )


class IRetentionPolicy(Interface):
    """Which of a log's old segments may go (``log.cleanup.policy``, ``kafkatx.retention``).

    Factory: ``factory()``. Pure: no I/O, no clock of its own.
    """

    def expired(segments: Any, config: Any, now_ms: int) -> int:
        """How many of *segments*, counted from the oldest, may go.

        :param segments: sequence of :class:`ISegmentFacts`, oldest first; the last one is the active one.
        :param config: the log's ``LogConfig``.
        """


class ICoordinator(Interface):
    """The cluster's state: brokers alive, topics, partitions, leaders, configs; and watches on them.

    Factory: ``factory(config, workers)``: a ``config.BrokerConfig`` and :data:`Workers`.
    Reads are of :attr:`state`, an immutable value in memory; changes are Deferreds that fire after the
    change is durable and :attr:`state` shows it.
    """

    state = Attribute("types.ClusterState; replaced as a whole.")

    def start(node: Any) -> Deferred[None]:
        """Load the state and register this broker (a ``types.BrokerNode``)."""

    def subscribe(listener: Callable[[Any, Any], None]) -> None:
        """Call ``listener(old, new)`` in the reactor thread after each change of :attr:`state`."""

    def create_topic(name: str, assignment: Any, configs: Any) -> Deferred[Any]:
        """Create a topic; fires with its ``types.Topic``.

        :param assignment: for each partition the sequence of its replicas' broker ids, the leader first.
        :param configs: mapping of config names to values, already validated.
        :return: fails with RequestError TOPIC_ALREADY_EXISTS.
        """

    def delete_topic(name: str) -> Deferred[None]:
        """Delete a topic; fails with RequestError UNKNOWN_TOPIC_OR_PARTITION."""

    def add_partitions(name: str, count: int, assignment: Any) -> Deferred[Any]:
        """Let a topic that has *count* partitions have more; fires with its ``types.Topic``.

        All of the new partitions are there after a crash, or none.

        :param assignment: for each new partition the sequence of its replicas' broker ids, the leader first.
        :return: fails with RequestError UNKNOWN_TOPIC_OR_PARTITION; INVALID_PARTITIONS where the topic has
            another number of partitions than *count*: somebody else was faster.
        """

    def alter_topic_configs(name: str, change: ConfigChange) -> Deferred[None]:
        """Let a topic have other configs.

        Two changes at the same time are made one after the other, and none is lost.

        :return: fails with RequestError UNKNOWN_TOPIC_OR_PARTITION, or as *change* does: then nothing of it
            is done.
        """

    def alter_broker_configs(broker: str, change: ConfigChange) -> Deferred[None]:
        """Let a broker have other settings than those it was started with; as :meth:`alter_topic_configs`.

        :param broker: the broker's id as text, or ``types.ALL_BROKERS`` for the defaults of all brokers.
        """

    def alter_client_quotas(changes: Mapping[Any, Mapping[str, float | None]]) -> Deferred[None]:
        """Set and remove client quotas: after a crash all of the changes are there, or none.

        :param changes: for each ``types.QuotaEntity`` the quotas' values by name, already validated; None
            removes one, also where there is none.
        """

    def allocate_producer_ids(count: int) -> Deferred[range]:
        """Reserve *count* producer ids that no broker of the cluster ever gave out, or will again."""

    def stop() -> Deferred[None]:
        """Give up the registration and let go of all resources."""


class IPartitioner(Interface):
    """Which partition a record goes to. Factory: ``factory()``; one object per producer."""

    def partition(topic: str, key: bytes | None, partitions: int) -> int:
        """The partition, from 0 to *partitions* - 1, of a record with this key."""

    def batch_sent(topic: str) -> None:
        """A batch of the topic was closed: a sticky partitioner chooses anew."""


class IEncoder(Interface):
    """Makes messages of an application's objects (Kafka's Serializer). Factory: ``factory()``.

    One object for keys and one for values, per producer.
    """

    def encode(topic: str, value: Any) -> bytes | None:
        """The message for *value*, or the key. None has none: its record has no value, or no key.

        Called for each record, so it should be quick.

        :raises Exception: *value* is none that it can encode; the call to the producer fails with it.
        """


class IDecoder(Interface):
    """Makes an application's objects of messages (Kafka's Deserializer). Factory: ``factory()``."""

    def decode(topic: str, data: bytes | None) -> Any:
        """The object that *data* is the message of; of None it is None.

        :raises Exception: the message is none of its own.
        """


class IRowDecoder(IDecoder):
    """A decoder whose objects are rows of a table, with columns that are known beforehand.

    ``decode`` gives a tuple (perhaps a named one) with the columns' values in their order, None where there
    is no value; of None it gives None. ``kafkatx ingest`` writes the values into columns of these types, and
    what does not fit is a dead letter. There the decoder is pickled, and used in other processes.
    """

    columns = Attribute(
        "Sequence of (name, type), the type in words of Spark's DDL: boolean, int, bigint, float, double, "
        "string, binary, date, timestamp, array<T>, struct<name:T,...>."
    )
    time_column = Attribute("str or None: the column, a timestamp, with the time of what a row tells.")


class IConfigurable(Interface):
    """A decoder with settings of its own (Kafka's Configurable); its factory takes no arguments either."""

    def configure(settings: Mapping[str, str]) -> None:
        """Take the settings; called once, before anything else, also if there are none.

        :raises SettingError: one is unknown, wrong or missing.
        """


class IAssignor(Interface):
    """Shares the partitions of a group's topics out among its members (``partition.assignment.strategy``).

    Factory: ``factory()``; one object per member. Every member must have it, for any may come to lead. What
    it gives is checked: a wrong one ends the leader's membership with an error that says what is wrong.
    ``kafkatx.clientside.assignors.Assignor`` is one that is made of a function.
    """

    name = Attribute("What members agree on it by; no other assignor's in the world.")
    cooperative = Attribute(
        "Whether members may keep their partitions while they rebalance (KIP-429): a partition that moves is "
        "then given to nobody first, and to its new owner by the next rebalance, which follows at once."
    )

    def assign(members: Mapping[str, Any], partitions: Mapping[str, int]) -> Mapping[str, Any]:
        """Partitions, as ``types.TopicPartition``, by member id.

        Each is given once at most, to a member that subscribes to its topic. Pure: any member may be asked,
        and all must come to the same, whatever the order of *members*.

        :param members: by member id a ``kafkatx.clientside.assignors.Member``: ``topics`` is what it wants,
            ``owned`` what it has where members keep their partitions.
        :param partitions: how many each topic has; of topics that are not in it nothing can be given.
        """

    def user_data(owned: Any, generation: int) -> bytes | None:
        """What the leader is to know of this member besides; ``Member.user_data`` has it then.

        :param owned: the partitions of its last assignment; None: there was none.
        :param generation: of that assignment; -1: there was none.
        """


class IProducerCallbacks(Interface):
    """Hears of records on their way through a producer (Kafka 0.7's CallbackHandler). Factory: ``factory()``.

    Called in the reactor thread. Records are ``kafkatx.clientside.outgoing.ProducerRecord``. Batches have
    ``topic``, ``partition``, ``records`` (how many), ``payload_bytes`` (those of keys and values) and
    ``attempts``; they are not to be changed. With callbacks a producer is slower: it makes an object of each
    record.
    """

    def before_enqueue(record: Any) -> Any:
        """Called before a record is encoded and takes room; returns the record to enqueue, perhaps another.

        Of a list that is sent at once only the value may be changed.

        :raises Exception: the record is not wanted: the call to the producer fails with it.
        """

    def after_enqueue(record: Any, added: bool) -> None:
        """Called when a record has been enqueued, or could not be. What it raises is logged."""

    def after_dequeue(batch: Any) -> None:
        """Called when a batch leaves the queue, before it is sent the first time.

        What it raises is logged.
        """

    def before_sending(node_id: int, batches: Any) -> None:
        """Called before each request with the batches in it, also when they are sent again.

        What it raises is logged.
        """

    def before_close() -> Any:
        """Called when the producer closes; returns an iterable of records to be sent before that."""


class IEventHandler(Interface):
    """Stands between a producer's queue and the broker (Kafka 0.7's EventHandler). Factory: ``factory()``."""

    def handle(node_id: int, batches: Any, send: Callable[[], Deferred[Any]]) -> Deferred[Any]:
        """Handle the batches of one request; ``return send()`` is what happens without a handler.

        :param batches: as :class:`IProducerCallbacks` gets them.
        :param send: sends the request; to be called at most once. Fires with the broker's response, None with
            acks=0; fails as ``kafkatx.client.Cluster.request``.
        :return: fires with what *send* fired with; or with None, then the batches count as delivered, at
            unknown offsets. If it fails with an error that may pass they are handled again, else those who
            sent the records get ProduceFailed. It must fire: nothing else is sent to these partitions before.
        """

    def close() -> None:
        """The producer is closed."""


class IBalancer(Interface):
    """Shares the partitions of topics out among the connectors of a group, and keeps the group's offsets.

    Factory: ``factory()``. The built-in one leaves both to the group's coordinator. One over ZooKeeper
    registers the connector and its streams, watches the others and the brokers, and runs Algorithm 1 of the
    2011 paper whenever these change. One object per connector; called in the reactor thread.
    """

    def join(consumer: Any, subscription: Any, listener: Any) -> Deferred[None]:
        """Become a member of the group.

        From now on the balancer has *consumer* read its share: by ``consumer.subscribe``, or by
        ``consumer.assign`` and ``consumer.seek`` whenever that changes. It sees to it that *listener* hears
        of the changes: ``on_partitions_assigned(partitions)`` once the consumer has them, and before they go
        ``on_partitions_revoked(partitions)``, which gives an awaitable to be awaited before somebody else
        may have them, for it commits; ``on_partitions_lost`` where they have gone already.

        :param consumer: a ``kafkatx.client.Consumer`` without automatic commits, perhaps not started yet.
        :param subscription: a ``kafkatx.clientside.subscription.Subscription``.
        :return: fires when it is on its way; fails with KafkaTXError: no stream will have anything.
        :raises KafkaTXError: it cannot be tried: a setting is missing.
        """

    def commit(offsets: Mapping[Any, Any]) -> Deferred[None]:
        """Keep for each ``types.TopicPartition`` an ``OffsetAndMetadata``, for whoever gets it next.

        :return: fires when they are kept; fails with CommitFailed: another has a partition now.
        """

    def leave() -> Deferred[None]:
        """Leave the group; the last offsets are kept already. The consumer is closed after this."""
