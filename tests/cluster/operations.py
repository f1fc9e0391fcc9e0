"""Operations while faults happen: replicas are moved, leaders elected, topics made and deleted."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.blocking.admin.replicas import Replicas
from kafkatx.clientcore.admin.replicas import PREFERRED
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.types import TopicPartition
from tests.cluster.faults import Begun, Fault, Victims
from tests.cluster.system import BROKERS, System

ASK_S = 5.0
RETRY_S = 180.0
HOLD_S = (1.0, 5.0, 15.0)
_numbers = itertools.count(1)


def with_cluster(system: System, work: Callable[[Cluster], str | None], *, insist: bool = False) -> str:
    """Do something through any broker; return what went wrong, empty if nothing did.

    :param insist: try again for three minutes, and complain if it never works.
    """
    deadline_s = time.monotonic() + RETRY_S
    while True:
        told = ""
        try:
            with system.admin(system.bootstrap, timeout_s=ASK_S, connect_timeout_s=2.0, retries=1) as cluster:
                told = work(cluster) or ""
        except KafkaTXError as error:
            told = str(error)
        if not told or not insist:
            return told
        if time.monotonic() > deadline_s:
            system.complaints.append(told)
            return told
        time.sleep(1)


def _move(partition: TopicPartition, replicas: Sequence[int]) -> Callable[[Cluster], str | None]:
    """Return a function that begins to move a partition."""

    def work(cluster: Cluster) -> str | None:
        for place, outcome in Replicas(cluster).reassign({partition: list(replicas)}).items():
            if outcome.error:
                return f"{place} is not moved to {list(replicas)}: {ErrorCode(outcome.error).name}"
        return None

    return work


def reassign(victims: Victims) -> AbstractContextManager[Begun]:
    """Move partitions to two brokers, and back to all three, in another order."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        chosen = {
            TopicPartition(*victims.partition()): victims.chance.sample(BROKERS, len(BROKERS))
            for _ in range(3)
        }
        told = [
            with_cluster(victims.system, _move(partition, replicas[:2]))
            for partition, replicas in chosen.items()
        ]
        places = ", ".join(f"{partition} to {replicas[:2]}" for partition, replicas in chosen.items())
        refused = "; ".join(filter(None, told))
        try:
            yield Begun(f"move of {places} {refused}", victims.chance.choice(HOLD_S))
        finally:
            for partition, replicas in chosen.items():
                victims.chance.shuffle(replicas)
                with_cluster(victims.system, _move(partition, replicas), insist=True)

    return fault()


def elect(victims: Victims) -> AbstractContextManager[Begun]:
    """Elect the preferred leaders of all partitions."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        def work(cluster: Cluster) -> str | None:
            Replicas(cluster).elect(PREFERRED, None)
            return None

        told = with_cluster(victims.system, work)
        yield Begun(f"preferred election {told}", 0.0)

    return fault()


def churn(victims: Victims) -> AbstractContextManager[Begun]:
    """Create topics, write to them, and delete them; one name comes again and again."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        names = [f"churn-{next(_numbers)}", "churn-again"]

        def make(name: str) -> Callable[[Cluster], str | None]:
            def work(cluster: Cluster) -> str | None:
                Admin(cluster).create_topic(name, 3, victims.system.copies)
                with Writer(cluster, name, delivery_timeout_s=ASK_S) as writer:
                    for number in range(100):
                        writer.send(b"%d" % number, partition=number % 3)
                return None

            return work

        def remove(name: str) -> Callable[[Cluster], str | None]:
            def work(cluster: Cluster) -> str | None:
                if name in cluster.metadata(None).topics:
                    Admin(cluster).delete_topic(name)
                return None

            return work

        told = [with_cluster(victims.system, make(name)) for name in names]
        try:
            yield Begun(f"topics {names} {'; '.join(filter(None, told))}", victims.chance.choice(HOLD_S))
        finally:
            for name in names:
                with_cluster(victims.system, remove(name), insist=True)

    return fault()


OPERATIONS: Sequence[tuple[Fault, int]] = ((reassign, 3), (elect, 1), (churn, 2))
"""What operators do, and how often each comes; beside other faults, too."""
