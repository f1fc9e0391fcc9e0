"""The intake of a transactional producer: records are accepted in an open transaction only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.producer.intake import Intake
from kafkatx.client.producer.receipts import CallbackReceipt, ListReceipt
from kafkatx.client.producer.topic_queues import Headers
from kafkatx.client.producer.transactions.transactions import Transactions
from kafkatx.clientcore.errors import BufferExhausted
from kafkatx.clientcore.producer.values import RecordMetadata


class TransactionalIntake(Intake):
    """Accepts the records of one producer's transactions.

    A record that is refused cannot be missed: its transaction cannot be committed.
    """

    def __init__(self, transactions: Transactions, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        self._transactions = transactions

    def send(
        self,
        topic: str,
        value: object,
        key: object,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: Deferred[RecordMetadata] | CallbackReceipt | None,
        may_wait: bool = True,
    ) -> None:
        """Enqueue a record as :meth:`Intake.send` does.

        :raises KafkaTXError: no transaction is open, or it has failed.
        """
        self._transactions.machine.check_open()
        try:
            super().send(topic, value, key, partition, headers, timestamp_ms, receipt, may_wait)
        except Exception as error:
            if may_wait or not isinstance(error, BufferExhausted):  # else the program calls again
                self._transactions.failed(error)
            raise

    def send_values(
        self,
        topic: str,
        values: Sequence[object],
        key: object,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
    ) -> None:
        """Enqueue a list as :meth:`Intake.send_values` does.

        :raises KafkaTXError: as :meth:`send`.
        """
        self._transactions.machine.check_open()
        try:
            super().send_values(topic, values, key, partition, timestamp_ms, receipt)
        except Exception as error:
            self._transactions.failed(error)
            raise
