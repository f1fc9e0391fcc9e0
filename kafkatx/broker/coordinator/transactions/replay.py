"""Replay of the records of ``__transaction_state``, a partition at a time.

:mod:`kafkatx.broker.coordinator.runtime.loader` reads the records. It touches nothing before all are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafkatx.broker.coordinator.transactions.shard import TransactionShard
from kafkatx.transactions.records import (
    KEY_VERSION,
    UnreadableTransaction,
    decode_key,
    decode_value,
    key_version,
)
from kafkatx.transactions.transaction import Transaction


class Transactions(Protocol):
    """The part of the transaction coordinator that transactional ids are replayed into."""

    wall_ms: Callable[[], int]

    def now_ms(self) -> int:
        """Return the machines' time."""

    def serve(self, shard: TransactionShard) -> None:
        """Serve the transactional ids of a partition from now on."""


class TransactionReplayer:
    """The transactional ids of a partition that is being loaded; not served before :meth:`loaded`."""

    def __init__(self, transactions: Transactions, shard: TransactionShard) -> None:
        self._transactions = transactions
        self._shard = shard

    def __call__(self, key: bytes, value: bytes | None) -> None:
        """Replay the last record of a key; skip one of an unknown version.

        :raises UnreadableTransaction: it cannot be read.
        """
        if key_version(key) != KEY_VERSION:
            return
        transactional_id = decode_key(key)
        if value is not None:
            coordinator = self._transactions
            self._shard.transactions[transactional_id] = Transaction(
                transactional_id, decode_value(value), coordinator.wall_ms, coordinator.now_ms()
            )

    def pending(self, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Refuse a record of an open transaction: no producer has one in this topic.

        :raises UnreadableTransaction: always.
        """
        raise UnreadableTransaction(
            f"the topic has a record of an open transaction of producer {producer_id}"
        )

    def loaded(self) -> None:
        """Serve the partition, all of whose records were replayed."""
        self._transactions.serve(self._shard)
