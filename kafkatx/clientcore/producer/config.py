"""What a producer's settings mean together, and which of them cannot be together."""

from __future__ import annotations

from kafkatx.clientcore.producer.accumulator import AccumulatorLimits
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import SettingError
from kafkatx.records.header import HEADER_BYTES

ALL = -1
IDEMPOTENT_IN_FLIGHT = 5
"""A broker knows the last five batches of a producer."""


def acks_of(settings: ClientSettings) -> int:
    """Who must have a batch: 0 nobody, 1 the leader, -1 all in-sync replicas."""
    text = settings[producer.ACKS]
    return ALL if text == "all" else int(text)


def is_idempotent(settings: ClientSettings) -> bool:
    """Whether brokers are to drop what a retry would double (KIP-98, KIP-679).

    :raises SettingError: it is asked for together with what it cannot be had with.
    """
    if not settings[producer.ENABLE_IDEMPOTENCE]:
        return False
    against = []
    if acks_of(settings) != ALL:
        against.append("acks=all")
    if settings[producer.MAX_IN_FLIGHT] > IDEMPOTENT_IN_FLIGHT:
        against.append(f"{producer.MAX_IN_FLIGHT.name} of at most {IDEMPOTENT_IN_FLIGHT}")
    if settings[producer.RETRIES] == 0:
        against.append("retries above 0")
    if against and settings.is_set(producer.ENABLE_IDEMPOTENCE):
        raise SettingError(f"{producer.ENABLE_IDEMPOTENCE.name}=true needs {' and '.join(against)}")
    return not against


def limits_of(settings: ClientSettings) -> AccumulatorLimits:
    """When batches are closed, sent and given up.

    Without idempotence one batch of a partition is under way at a time, so that a retry keeps the order
    (Apache Kafka's client lets it go there); with acks=0 nothing is ever sent again.

    :raises SettingError: ``delivery.timeout.ms`` is set to less than one attempt may take.
    """
    linger_ms = 0 if settings[producer.PRODUCER_TYPE] == "sync" else settings[producer.LINGER_MS]
    attempt_ms = linger_ms + settings[common.REQUEST_TIMEOUT_MS]
    delivery_ms = settings[producer.DELIVERY_TIMEOUT_MS]
    if delivery_ms < attempt_ms:
        if settings.is_set(producer.DELIVERY_TIMEOUT_MS):
            raise SettingError(
                f"{producer.DELIVERY_TIMEOUT_MS.name}={delivery_ms} is less than linger.ms and"
                f" request.timeout.ms together, {attempt_ms}: no attempt could be waited for"
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
