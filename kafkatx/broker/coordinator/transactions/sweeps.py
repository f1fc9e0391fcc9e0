"""Looks at all transactional ids, one with each step: for late transactions, and for ids that expire.

The tasks at intervals (:mod:`kafkatx.broker.background`) run them between the reactor's other work.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.logger import Logger

from kafkatx.broker.coordinator.transactions.coordinator import TransactionCoordinator
from kafkatx.broker.coordinator.transactions.shard import TransactionShard
from kafkatx.transactions.transaction import Transaction

_log = Logger()


def abort_each(coordinator: TransactionCoordinator) -> Iterator[None]:
    """Abort the transactions whose time-out has passed."""
    for shard, transaction in _each(coordinator):
        try:
            coordinator.perform(shard, transaction, transaction.abort_if_late(coordinator.now_ms()))
        except Exception:
            _log.failure("aborting a late transaction failed")
        yield


def expire_each(coordinator: TransactionCoordinator) -> Iterator[None]:
    """Forget the transactional ids that were not used for ``transactional.id.expiration.ms``."""
    for shard, transaction in _each(coordinator):
        try:
            expired = transaction.expire(coordinator.now_ms(), coordinator.expiration_ms)
            coordinator.perform(shard, transaction, expired)
        except Exception:
            _log.failure("the expiry of a transactional id failed")
        yield


def _each(coordinator: TransactionCoordinator) -> Iterator[tuple[TransactionShard, Transaction]]:
    for shard in list(coordinator.shards.values()):
        for transaction in list(shard.transactions.values()):
            if not shard.dropped:
                yield shard, transaction
