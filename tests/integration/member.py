"""A member of a consumer group in a process of its own, which can be killed, or stopped for a while.

It commits every record after it has told it. ``python -m tests.integration.member --help`` tells its
arguments; ``--set`` is for settings by the client's own names. It writes a line of JSON for each thing that
happens::

    {"owned": [0, 1]}               after a rebalance: the partitions it has now
    {"record": [0, 17, "value"]}    partition, offset, value

SIGTERM makes it leave the group.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any

POLL_S = 0.1
HEARTBEATS = 5
"""In a session."""

_running = True


def _stop(*_: object) -> None:
    global _running
    _running = False


def say(**what: Any) -> None:
    """Tell the test."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Owned:
    """The partitions that this member has."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()

    def gained(self, numbers: Iterable[int]) -> None:
        """A rebalance gave some."""
        self._numbers |= set(numbers)
        say(owned=sorted(self._numbers))

    def lost(self, numbers: Iterable[int]) -> None:
        """A rebalance took some."""
        self._numbers -= set(numbers)
        say(owned=sorted(self._numbers))


def confluent(bootstrap: str, group: str, topic: str, session_ms: int, instance_id: str, **more: str) -> None:
    """A member that is librdkafka."""
    from confluent_kafka import Consumer

    session = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": session_ms // HEARTBEATS}
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        **({} if more.get("group.protocol") == "consumer" else session),  # there the broker says so
        "max.poll.interval.ms": 60_000,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **({"group.instance.id": instance_id} if instance_id else {}),
        **more,
    }
    owned, consumer = Owned(), Consumer(settings)
    consumer.subscribe(
        [topic],
        on_assign=lambda _, found: owned.gained(p.partition for p in found),
        on_revoke=lambda _, found: owned.lost(p.partition for p in found),
        on_lost=lambda _, found: owned.lost(p.partition for p in found),
    )
    while _running:
        message = consumer.poll(POLL_S)
        if message is None or message.error():
            continue
        say(record=[message.partition(), message.offset(), message.value().decode()])
        consumer.commit(message, asynchronous=True)
    consumer.close()


def kafka_python(
    bootstrap: str, group: str, topic: str, session_ms: int, instance_id: str, **more: str
) -> None:
    """A member that is kafka-python."""
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.errors import CommitFailedError, KafkaError, RebalanceInProgressError

    owned = Owned()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
        def on_partitions_assigned(self, assigned: Any) -> None:
            """Implement the library's listener."""
            owned.gained(p.partition for p in assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            """Implement the library's listener."""
            owned.lost(p.partition for p in revoked)

    assignors = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
    chosen = more.pop("partition_assignment_strategy", None)
    strategy: dict[str, Any] = {"partition_assignment_strategy": [assignors[chosen]]} if chosen else {}
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=instance_id or None,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=session_ms // HEARTBEATS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **more,
        **strategy,
    )

    def commit() -> None:
        while _running:
            try:
                consumer.commit()
            except (CommitFailedError, RebalanceInProgressError):
                pass  # what it has to commit after the next poll, it commits then
            except KafkaError as error:
                if not error.retriable:
                    raise
                time.sleep(POLL_S)  # the broker is away: this client does not try again by itself
                continue
            return

    consumer.subscribe([topic], listener=Listener())
    while _running:
        for messages in consumer.poll(POLL_S * 1000).values():
            for message in messages:
                say(record=[message.partition, message.offset, message.value.decode()])
            commit()
    consumer.close()


def ours(bootstrap: str, group: str, topic: str, session_ms: int, instance_id: str, **more: str) -> None:
    """A member that is this project's own client."""
    from twisted.internet import task
    from twisted.internet.defer import Deferred

    from kafkatx.client.consumer.consumer import Consumer
    from kafkatx.client.consumer.group.rebalance import RebalanceListener

    owned = Owned()

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions: Any) -> None:
            """Implement the library's listener."""
            owned.gained(p.partition for p in partitions)

        def on_partitions_revoked(self, partitions: Any) -> None:
            """Implement the library's listener, also for lost partitions."""
            owned.lost(p.partition for p in partitions)

    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "group_id": group,
        "group_instance_id": instance_id or None,
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": session_ms // HEARTBEATS,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        **more,
    }
    consumer = Consumer(settings)

    async def run() -> None:
        consumer.subscribe([topic], listener=Listener())
        await consumer.start()
        signal.signal(signal.SIGTERM, _stop)  # the reactor, which runs now, has taken it for itself
        while _running:
            for records in (await consumer.getmany(timeout_ms=int(POLL_S * 1000))).values():
                for record in records:
                    say(record=[record.partition, record.offset, record.value.decode()])
                consumer.commit().addErrback(lambda failure: None)
        await consumer.close()

    task.react(lambda reactor: Deferred.fromCoroutine(run()))


CLIENTS = {"confluent-kafka": confluent, "kafka-python": kafka_python, "kafkatx": ours}


def main() -> None:
    """Run until told to stop."""
    signal.signal(signal.SIGTERM, _stop)
    parser = argparse.ArgumentParser()
    for name in ("client", "bootstrap", "group", "topic"):
        parser.add_argument(name)
    parser.add_argument("--session-ms", type=int, default=6000)
    parser.add_argument("--instance-id", default="")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    a = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in a.set)
    CLIENTS[a.client](a.bootstrap, a.group, a.topic, a.session_ms, a.instance_id, **settings)


if __name__ == "__main__":
    main()
