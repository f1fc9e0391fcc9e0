"""The search for transactions that are open when all programs have ended."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.topics import Admin
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
_PAUSE_S = 0.5


def left_open(bootstrap: str, wait_s: float) -> list[str]:
    """Return a line for each transaction that is still open after a while.

    A transaction may be open for its coordinator, for the leader of a partition (also of
    ``__consumer_offsets``), or only hold the last stable offset back.
    """
    end_s = time.monotonic() + wait_s
    while True:
        try:
            with Cluster(bootstrap) as cluster:
                found = [f"left open: {one}" for one in _found(cluster)]
        except KafkaTXError as error:
            found = [f"left open? {error}"]
        if not found or time.monotonic() > end_s:
            return found
        time.sleep(_PAUSE_S)


def _found(cluster: Cluster) -> Iterator[object]:
    tools = Transactions(cluster)
    yield from (one for one in tools.listings() if one.state in _OPEN)
    topics = {topic.name: len(topic.partitions) for topic in Admin(cluster).list_topics(internal=True)}
    yield from tools.open(TopicPartition(name, p) for name, count in topics.items() for p in range(count))
    for name, count in topics.items():
        ends = dict.fromkeys(range(count), LATEST)
        high, stable = (cluster.offsets(name, ends, level) for level in (0, 1))
        for p in ends:
            if high[p] != stable[p]:
                yield f"{name}-{p}: last stable offset {stable[p][0]}, end {high[p][0]}"
