"""The metrics of a broker's clients: subscriptions, instances and values together. A worker reads pushes.

Without subscriptions nothing is kept: a client is told that nothing is wanted, and asks again after five
minutes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.telemetry.client_instances import (
    RESERVED_IDS,
    ClientInstance,
    ClientInstances,
    Pushed,
)
from kafkatx.broker.telemetry.otlp import Push, read
from kafkatx.broker.telemetry.protobuf import Malformed
from kafkatx.broker.telemetry.recent_values import ClientValues, RecentValues
from kafkatx.broker.telemetry.subscriptions import Client, Selection, Subscriptions
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError, UnsupportedCompression
from kafkatx.interfaces import IMetadataStore, Worker
from kafkatx.metadata.embedded.ids import kafka_id
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.compression import Codec, InflatedTooLarge, decompress
from kafkatx.types import ClusterDelta
from kafkatx.wire.schema import NULL_UUID

ACCEPTED = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
"""The codecs that clients may use, the best first, as in Apache Kafka."""

MOST_READ = 64
"""Pushes that wait for the worker; further ones are refused."""


class ClientTelemetry:
    """The metrics that clients push.

    :ivar values: the recent values.
    :ivar pushes: pushes that were taken; *refused*: those that were not.
    :param most_bytes: ``telemetry.max.bytes``, for a push as it comes and for what it inflates to.
    :param most_values: the most values that are kept.
    """

    def __init__(
        self,
        metadata: IMetadataStore,
        clock: IReactorTime,
        worker: Callable[[], Worker],
        log: LimitedLog,
        most_bytes: int,
        most_values: int,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self.values = RecentValues(most_values)
        self.instances = ClientInstances(Subscriptions({}))
        self.most_bytes = most_bytes
        self.pushes = 0
        self.refused = 0
        self._clock = clock
        self._worker = worker
        self._log = log
        self._new_id = new_id
        self._reading = 0
        self._use(Subscriptions(metadata.state.client_metrics_configs))
        metadata.subscribe(self._changed)

    def _changed(self, delta: ClusterDelta) -> None:
        configs = delta.after.client_metrics_configs
        if configs is not delta.before.client_metrics_configs:
            self._use(Subscriptions(configs))

    def _use(self, subscriptions: Subscriptions) -> None:
        self.instances.use(subscriptions)
        for complaint in subscriptions.complaints:
            self._log.warn("a stored config is not used: {complaint}", complaint=quoted(complaint))

    def _now_ms(self) -> float:
        return self._clock.seconds() * 1000

    def subscribe(self, instance_id: uuid.UUID, context: RequestContext) -> tuple[uuid.UUID, Selection]:
        """Return the id of a client instance, new if it has none, and what it is asked for.

        :raises RequestError: THROTTLING_QUOTA_EXCEEDED: it asks too early.
        """
        if instance_id == NULL_UUID:
            instance_id = self._new_id()
        if not self.instances.subscriptions:
            return instance_id, self.instances.subscriptions.nothing
        instance = self._find(instance_id, context)
        instance.check_get(self._now_ms())
        return instance_id, instance.selection

    def push(
        self,
        instance_id: uuid.UUID,
        subscription_id: int,
        terminating: bool,
        compression: int,
        metrics: bytes,
        context: RequestContext,
    ) -> Deferred[None]:
        """Take a push.

        :return: fires when the values are there; fails with RequestError: see the table of
            :mod:`kafkatx.broker.telemetry.client_instances`; INVALID_RECORD: the metrics cannot be read.
        """
        if instance_id in RESERVED_IDS:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"there is no client instance {instance_id}")
        supported = compression in Codec._value2member_map_
        instance = self._find(instance_id, context)
        pushed = Pushed(subscription_id, terminating, supported, len(metrics), self.most_bytes)
        try:
            instance.check_push(pushed, self._now_ms())
            if self._reading >= MOST_READ:
                raise RequestError(
                    ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{MOST_READ} pushes are being read; try again later"
                )
        except RequestError:
            self.refused += 1
            raise
        if not metrics:
            return succeed(None)
        self._reading += 1
        reading = self._worker()(partial(_read, compression, metrics, self.most_bytes))
        return reading.addBoth(self._was_read).addCallbacks(
            partial(self._take, instance, context.peer.session.principal), partial(self._unreadable, instance)
        )

    def _was_read(self, result: object) -> object:
        self._reading -= 1
        return result

    def _take(self, instance: ClientInstance, principal: str, push: Push) -> None:
        self.pushes += 1
        if not self.instances.knows(instance.id):
            return
        interval_ms = instance.selection.interval_ms
        self.values.take(instance.id, instance.client, principal, push, interval_ms, self._now_ms())
        self._forget()

    def _unreadable(self, instance: ClientInstance, failure: Failure) -> Failure:
        self.refused += 1
        instance.last_error = ErrorCode.INVALID_RECORD
        return failure

    def _find(self, instance_id: uuid.UUID, context: RequestContext) -> ClientInstance:
        instance = self.instances.find(instance_id, client_of(instance_id, context), self._now_ms())
        self._forget()
        return instance

    def _forget(self) -> None:
        self.values.forget(self.instances.take_forgotten())

    def recent(self) -> Sequence[ClientValues]:
        """Return the values of the clients that are not forgotten by now, in the order of their ids."""
        self.instances.sweep(self._now_ms())
        self._forget()
        return sorted(self.values, key=lambda one: (one.client.client_id, one.client.client_instance_id))

    def age_ms(self, values: ClientValues) -> int:
        """Return the time since the last push of a client."""
        return int(self._now_ms() - values.pushed_ms)


def client_of(instance_id: uuid.UUID, context: RequestContext) -> Client:
    """Return a client as ``match`` sees it."""
    peer = context.peer
    name, _, version = peer.client_software.partition(" ")
    return Client(
        kafka_id(instance_id),
        context.client_id or "",
        name or "unknown",
        version or "unknown",
        peer.host,
        str(peer.port),
    )


def _read(compression: int, metrics: bytes, most_bytes: int) -> Push:
    """Read the metrics of a push.

    :raises RequestError: TELEMETRY_TOO_LARGE: they inflate to too much; INVALID_RECORD.
    """
    try:
        return read(decompress(Codec(compression), metrics, most_bytes))
    except InflatedTooLarge as error:
        raise RequestError(ErrorCode.TELEMETRY_TOO_LARGE, str(error)) from None
    except UnsupportedCompression:
        raise
    except (CorruptRecords, Malformed) as error:
        raise RequestError(ErrorCode.INVALID_RECORD, f"the metrics cannot be read: {error}") from None
