"""The parts of a producer, made from its settings and connected with each other."""

from __future__ import annotations

from kafkatx.client.plugins import coder_part, configured_instance
from kafkatx.client.producer.audit import SendRecord, make_announcer
from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.flush import Flusher
from kafkatx.client.producer.intake import Intake
from kafkatx.client.producer.preparation import PreparationLine, RecordEncoder
from kafkatx.client.producer.receipts import LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.client.registry.access import RegistryAccess
from kafkatx.clientcore.audit.server_header import make_accumulator, stamp_of
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.producer.config import is_idempotent, limits_of, sender_config_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.interfaces import IEncoder, IEventHandler, IPartitioner, IProducerCallbacks
from kafkatx.networkclient.cluster import Cluster
from kafkatx.records.compression import codec_named


class ProducerParts:
    """Intake, buffer pool, topic queues, accumulator, sender and flusher of one producer.

    :ivar registry: the schema registry that the encoders use.
    :ivar line: records that wait for their encoder.
    :ivar announcer: None if ``audit.interval.ms`` is 0.
    """

    def __init__(self, settings: ClientSettings, cluster: Cluster, send_record: SendRecord) -> None:
        """Make the parts.

        :param send_record: sends the records of the audit.
        :raises SettingError: two settings contradict each other, or a plugin is not installed.
        """
        self.idempotent = is_idempotent(settings)
        partitioner: IPartitioner = configured_instance(settings, producer.PARTITIONER_CLASS, IPartitioner)
        self.callbacks: IProducerCallbacks | None = configured_instance(
            settings, producer.CALLBACK_HANDLER, IProducerCallbacks
        )
        self.handler: IEventHandler | None = configured_instance(
            settings, producer.EVENT_HANDLER, IEventHandler
        )
        reactor = cluster.reactor
        max_block_ms = settings[producer.MAX_BLOCK_MS]
        # max.block.ms=0 means "do not wait for buffer memory"; metadata still has to be waited for.
        block_s = (max_block_ms or settings[common.DEFAULT_API_TIMEOUT_MS]) / 1000
        self.lost_records = LostRecords()
        self.accumulator = make_accumulator(
            stamp_of(settings),
            limits_of(settings),
            codec_named(settings[producer.COMPRESSION_TYPE]),
            backoff=Backoff(
                1, settings[common.RETRY_BACKOFF_MS], settings[common.RETRY_BACKOFF_MAX_MS], JITTER
            ),
        )
        self.announcer = make_announcer(settings, reactor, send_record)
        self.sender = Sender(
            cluster,
            self.accumulator,
            sender_config_of(settings),
            self.lost_records,
            callbacks=self.callbacks,
            handler=self.handler,
            announcer=self.announcer,
        )
        self.topic_queues = TopicQueues(
            cluster,
            self.accumulator,
            self.sender,
            partitioner,
            self.lost_records,
            block_s=block_s,
            ignore_keys=settings[producer.PARTITIONER_IGNORE_KEYS],
            sync=settings[producer.PRODUCER_TYPE] == "sync",
        )
        self.pool = BufferPool(
            reactor, self.accumulator, max_block_ms / 1000, self.lost_records, self.sender.set_waiting
        )
        self.sender.settled = self.pool.admit
        self.registry = RegistryAccess(settings, reactor)
        key_encoder, value_encoder = (
            RecordEncoder.of(coder_part(settings, setting, IEncoder, self.registry.client))
            for setting in (producer.KEY_SERIALIZER, producer.VALUE_SERIALIZER)
        )
        self.line = PreparationLine(reactor, key_encoder, value_encoder, self.lost_records, block_s)
        self.flusher = Flusher(
            self.line, self.pool, self.topic_queues, self.accumulator, self.sender, self.lost_records
        )
        self.intake = Intake(
            self.accumulator,
            self.topic_queues,
            self.pool,
            reactor.seconds,
            callbacks=self.callbacks,
            key_encoder=key_encoder,
            value_encoder=value_encoder,
            line=self.line,
            block_s=block_s,
        )
