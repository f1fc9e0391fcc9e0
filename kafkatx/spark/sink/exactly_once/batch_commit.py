"""On the driver, after the tasks of a micro-batch: the decision, and the commit of their transactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafkatx.blocking import Cluster
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink.exactly_once.attempt import Attempt
from kafkatx.spark.sink.exactly_once.decision import Decision, Stored, task_id
from kafkatx.spark.sink.exactly_once.settlement import check_open, complete, read_decision, store
from kafkatx.types import TopicPartition

log = logging.getLogger(__name__)


def commit_batch(cluster: Cluster, attempts: Sequence[Attempt], batch_id: int, timeout_ms: int) -> None:
    """Commit what tasks have written, all of it or nothing; nothing if the batch was decided before.

    :param attempts: one for each task.
    :raises KafkaTXError: nothing is committed; or, after the decision, a commit did not come through: then
        the next start of a batch repeats it.
    """
    written = [attempt for attempt in attempts if attempt.part is not None]
    if not written:
        return
    start, place = written[0].start, written[0].place
    if any((one.start, one.place) != (start, place) for one in written) or place.batch_id != batch_id:
        raise KafkaTXError(f"nothing of batch {batch_id} was committed: its tasks were not begun together")
    parts = tuple(one.part for one in written if one.part is not None)
    check_open(cluster, start.transactional_id, parts)
    driver = Transaction.resumed(cluster, start.driver)
    topic = min(one.topic for one in written)
    where = TopicPartition(topic, 0) if start.last is None else start.last.place
    decision = Decision(place.query_id, batch_id, parts)
    store(driver, decision, where)
    complete(cluster, driver, Stored(decision, where))
    for part in parts:
        for earlier in range(part.attempt):  # of this task; it may have been killed with an open transaction
            Transaction.begun(cluster, task_id(start.transactional_id, part.task, earlier), timeout_ms)


def abort_batch(cluster: Cluster, attempts: Sequence[Attempt], batch_id: int) -> None:
    """Abort what tasks have written, unless the batch was decided; Spark calls it after a failed commit, too.

    What cannot be aborted now is aborted at the next start of a batch, or by its time-out.

    :param attempts: of tasks that have not failed.
    """
    written = [one for one in attempts if one.part is not None]
    if not written:
        return
    start, place = written[0].start, written[0].place
    try:
        stored = read_decision(cluster, start.transactional_id)
        last = None if stored is None else stored.decision
        if last is not None and (last.query_id, last.batch_id) == (place.query_id, batch_id):
            return
        for one in written:
            assert one.part is not None
            Transaction.resumed(cluster, one.part.handle(start.transactional_id)).end(False)
    except KafkaTXError as error:
        log.warning("transactions of batch %s were not aborted: %s", batch_id, error)
