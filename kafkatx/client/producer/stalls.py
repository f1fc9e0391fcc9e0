"""Warnings about batches that brokers have not accepted for a while, and that are retried."""

from __future__ import annotations

from twisted.logger import Logger

from kafkatx.clientcore.producer.batch import ProducerBatch

FIRST_WARNING_S = 5.0
"""The age of a batch, in seconds, at its first warning."""


class StallWarning:
    """Logs that a batch is being retried: at the age of FIRST_WARNING_S, then whenever its age has doubled.

    One warning stands for all batches of the producer that fail meanwhile.

    :param delivery_s: seconds after which a batch fails (``delivery.timeout.ms``).
    """

    _log = Logger()

    def __init__(self, delivery_s: float) -> None:
        self._delivery_s = delivery_s
        self._quiet_until_s = 0.0

    def retried(self, batch: ProducerBatch, why: object, now_s: float) -> None:
        """Warn if it is time: the batch has failed with a retriable error, or has no leader."""
        age_s = now_s - (batch.deadline_s - self._delivery_s)
        if not age_s >= FIRST_WARNING_S or now_s < self._quiet_until_s:
            return  # or the age is not a number, because batches have no deadline
        self._quiet_until_s = now_s + age_s
        self._log.warn(
            "{topic} [{partition}] has accepted no records for {seconds:.0f} s; trying again: {why}",
            topic=batch.topic,
            partition=batch.partition,
            seconds=age_s,
            why=why,
        )
