"""On the driver, before the tasks of a micro-batch: fence the run before, and settle what it has left."""

from __future__ import annotations

import attrs

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.blocking.producer.transaction import Transaction, TransactionHandle
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.spark.sink.exactly_once.decision import Stored, is_task_id
from kafkatx.spark.sink.exactly_once.settlement import complete, read_decision


@attrs.frozen
class BatchStart:
    """The begin of one micro-batch, for its tasks and its commit; picklable.

    :ivar driver: the identity that decides about the batch.
    :ivar last: the decision before; all of its transactions are committed.
    """

    driver: TransactionHandle
    last: Stored | None = None

    @property
    def transactional_id(self) -> str:
        """The query's transactional id."""
        return self.driver.transactional_id


def start_batch(cluster: Cluster, transactional_id: str, timeout_ms: int) -> BatchStart:
    """Begin a micro-batch; the number of it is not known here.

    :param timeout_ms: of transactions.
    :raises BatchTorn: an earlier batch can neither be committed nor dropped.
    :raises KafkaTXError: no coordinator answers, or one refuses.
    """
    driver = Transaction.begun(cluster, transactional_id, timeout_ms)
    last = read_decision(cluster, transactional_id)
    if last is not None and last.decision.parts:
        last = complete(cluster, driver, last)
    _abort_others(cluster, transactional_id, timeout_ms)
    return BatchStart(driver.handle, last)


def _abort_others(cluster: Cluster, transactional_id: str, timeout_ms: int) -> None:
    """Abort what killed tasks have left open: readers of committed records would wait for it."""
    try:
        open_ones = Transactions(cluster).listings(states=["Ongoing"])
    except RequestError as error:
        if error.code is not ErrorCode.UNSUPPORTED_VERSION:  # before Kafka 3.0: their time-out does it
            raise
        return
    for name in (one.transactional_id for one in open_ones):
        if is_task_id(transactional_id, name):
            Transaction.begun(cluster, name, timeout_ms)
