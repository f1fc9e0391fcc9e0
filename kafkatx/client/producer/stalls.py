"""Says of records that brokers do not take for a while, and that wait to be sent again."""

from __future__ import annotations

from twisted.logger import Logger

from kafkatx.clientcore.producer.batch import ProducerBatch

FIRST_TOLD_S = 5.0
"""So old are records when it is first said that they wait."""


class StallWarning:
    """Warns of one batch at a time: FIRST_TOLD_S after its records came, and then ever more seldom.

    :param delivery_s: how long after they came records are given up.
    """

    _log = Logger()

    def __init__(self, delivery_s: float) -> None:
        self._delivery_s = delivery_s
        self._quiet_until_s = 0.0

    def tell(self, batch: ProducerBatch, why: object, now_s: float) -> None:
        """A batch was refused with an error that passes, or nobody can be asked to take it."""
        age_s = now_s - (batch.deadline_s - self._delivery_s)
        if not age_s >= FIRST_TOLD_S or now_s < self._quiet_until_s:
            return  # also where records have no deadline
        self._quiet_until_s = now_s + age_s
        self._log.warn(
            "{topic} [{partition}] has taken no records for {seconds:.0f} s, they are sent again: {why}",
            topic=batch.topic,
            partition=batch.partition,
            seconds=age_s,
            why=why,
        )
