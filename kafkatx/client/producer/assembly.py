"""The parts of a producer, made from its settings and connected with each other."""

from __future__ import annotations

from functools import partial

from kafkatx.client.plugins import coder_part, configured_instance
from kafkatx.client.producer.audit import SendRecord, make_announcer
from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.flush import Flusher
from kafkatx.client.producer.intake import Intake
from kafkatx.client.producer.preparation import PreparationLine, RecordEncoder
from kafkatx.client.producer.receipts import LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.client.producer.transactions.coordinator import TransactionCoordinator
from kafkatx.client.producer.transactions.intake import TransactionalIntake
from kafkatx.client.producer.transactions.transactions import Transactions
from kafkatx.client.registry.access import RegistryAccess
from kafkatx.clientcore.audit.server_header import make_accumulator, stamp_of
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.producer.config import is_idempotent, limits_of, sender_config_of
from kafkatx.clientcore.producer.transactions.machine import TransactionMachine
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IEncoder, IEventHandler, IPartitioner, IProducerCallbacks
from kafkatx.networkclient.cluster import Cluster
from kafkatx.records.compression import codec_named


class ProducerParts:
    """Intake, buffer pool, topic queues, accumulator, sender, flusher, transactions of one producer.

    :ivar registry: the schema registry that the encoders use.
    :ivar line: records that wait for their encoder.
    :ivar transactions: None without ``transactional.id``.
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
        self.transactions = self._make_transactions(settings, cluster)
        make_intake = Intake if self.transactions is None else partial(TransactionalIntake, self.transactions)
        self.intake = make_intake(
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

    def _make_transactions(self, settings: ClientSettings, cluster: Cluster) -> Transactions | None:
        """Return the transactions that the settings ask for, connected with the other parts; None: none."""
        transactional_id = settings[producer.TRANSACTIONAL_ID]
        if not transactional_id:
            return None
        machine = TransactionMachine(transactional_id)
        timeout_ms = settings[producer.TRANSACTION_TIMEOUT_MS]
        transactions = Transactions(
            TransactionCoordinator(cluster, machine, timeout_ms),
            machine,
            self.accumulator,
            self.sender,
            self.lost_records,
            self.flusher.drain,
            self._reject_waiting,
        )

        def settled() -> None:
            self.pool.admit()
            transactions.settled()

        self.accumulator.transactional = True
        self.lost_records.on_failure = transactions.failed
        self.sender.gate = transactions
        self.sender.settled = settled
        return transactions

    def _reject_waiting(self, error: KafkaTXError) -> None:
        self.line.fail_waiting(error)
        self.pool.fail_waiting(error)
        self.topic_queues.drop_pending(error)
