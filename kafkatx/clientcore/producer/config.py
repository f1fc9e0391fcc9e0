"""The limits of a producer, made from its settings, and checks of settings that exclude each other. Pure."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.producer.accumulator import AccumulatorLimits
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import SettingError
from kafkatx.records.header import HEADER_BYTES

ALL = -1
IDEMPOTENT_IN_FLIGHT = 5
"""A broker remembers the last five batches of a producer."""


@attrs.frozen
class SenderConfig:
    """The settings of produce requests.

    :ivar acks: 0: no reply; 1: the leader has written the batch; -1: all in-sync replicas have.
    :ivar timeout_ms: the time for which the leader may wait for the other replicas.
    :ivar request_bytes: the largest request, unless a single batch is larger.
    :ivar in_flight: the largest number of unanswered requests per broker.
    """

    acks: int = -1
    timeout_ms: int = 30_000
    request_bytes: int = 1 << 20
    in_flight: int = 5


def sender_config_of(settings: ClientSettings) -> SenderConfig:
    """Return the settings of produce requests."""
    return SenderConfig(
        acks_of(settings),
        settings[common.REQUEST_TIMEOUT_MS],
        settings[producer.MAX_REQUEST_SIZE],
        settings[producer.MAX_IN_FLIGHT],
    )


def acks_of(settings: ClientSettings) -> int:
    """Return the acknowledgements to wait for: 0: none, 1: the leader's, -1: of all in-sync replicas."""
    text = settings[producer.ACKS]
    return ALL if text == "all" else int(text)


def is_idempotent(settings: ClientSettings) -> bool:
    """Return True if brokers drop duplicates of retried batches (KIP-98, KIP-679).

    :raises SettingError: it is set together with settings that exclude it.
    """
    transactional = bool(settings[producer.TRANSACTIONAL_ID])
    if transactional and settings[producer.AUDIT_INTERVAL_MS]:
        raise SettingError(
            f"{producer.TRANSACTIONAL_ID.name} excludes {producer.AUDIT_INTERVAL_MS.name}: announcements are"
            " sent at any time, and would be parts of transactions; count with another producer"
        )
    if not settings[producer.ENABLE_IDEMPOTENCE]:
        if transactional:
            raise SettingError(
                f"{producer.TRANSACTIONAL_ID.name} needs {producer.ENABLE_IDEMPOTENCE.name}=true"
            )
        return False
    against = []
    if acks_of(settings) != ALL:
        against.append("acks=all")
    if settings[producer.MAX_IN_FLIGHT] > IDEMPOTENT_IN_FLIGHT:
        against.append(f"{producer.MAX_IN_FLIGHT.name} of at most {IDEMPOTENT_IN_FLIGHT}")
    if settings[producer.RETRIES] == 0:
        against.append("retries above 0")
    if against and (transactional or settings.is_set(producer.ENABLE_IDEMPOTENCE)):
        name = producer.TRANSACTIONAL_ID.name if transactional else f"{producer.ENABLE_IDEMPOTENCE.name}=true"
        raise SettingError(f"{name} needs {' and '.join(against)}")
    return not against


def limits_of(settings: ClientSettings) -> AccumulatorLimits:
    """Return the limits of batches.

    Without idempotence one batch of a partition is in flight at a time, so that a retry keeps the order
    (Apache Kafka's client does not keep it). With acks=0 nothing is retried, so more batches may be in
    flight.

    :raises SettingError: ``delivery.timeout.ms`` is set to less than one attempt may take.
    """
    linger_ms = 0 if settings[producer.PRODUCER_TYPE] == "sync" else settings[producer.LINGER_MS]
    attempt_ms = linger_ms + settings[common.REQUEST_TIMEOUT_MS]
    delivery_ms = settings[producer.DELIVERY_TIMEOUT_MS]
    if delivery_ms < attempt_ms:
        if settings.is_set(producer.DELIVERY_TIMEOUT_MS):
            raise SettingError(
                f"{producer.DELIVERY_TIMEOUT_MS.name}={delivery_ms} is less than linger.ms and"
                f" request.timeout.ms together, {attempt_ms}: not even one attempt could end"
            )
        delivery_ms = attempt_ms
    pipelined = is_idempotent(settings) or acks_of(settings) == 0
    max_bytes = max(1, settings[producer.MAX_REQUEST_SIZE] - HEADER_BYTES)
    return AccumulatorLimits(
        batch_bytes=max(1, min(settings[producer.BATCH_SIZE] - HEADER_BYTES, max_bytes)),
        max_bytes=max_bytes,
        linger_s=linger_ms / 1000,
        buffer_bytes=settings[producer.BUFFER_MEMORY],
        delivery_s=delivery_ms / 1000,
        in_flight=settings[producer.MAX_IN_FLIGHT] if pipelined else 1,
        retries=settings[producer.RETRIES],
    )
