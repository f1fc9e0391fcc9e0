"""The features that take several members: a group that changes, and a broker that restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.clients.brokers import CONSUMER_SESSION_S, Broker
from tests.clients.features import PARTITIONS
from tests.clients.members import Members
from tests.clients.scenario import new_name, same, until
from tests.clients.topics import new_topic

SETTLE_S = 30.0
LONG_MS, SHORT_MS = 20_000, 3000
"""Session time-outs of members that stay or leave, and of the one that is killed."""
LEFT_S = CONSUMER_SESSION_S - 2
"""A group settles so soon after a member has left: surely before its session would have timed out."""
EACH = 20
_NOT_READY = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""What a broker that has just started may answer before it has loaded its groups."""


class Feed:
    """Fills a topic, each partition equally; librdkafka does it for every client."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._bootstrap = bootstrap
        self.group = new_name("group")
        self._each = 0
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.topic = new_topic(admin)

    def more(self) -> dict[int, int]:
        """Produce some records to each partition; the end offsets."""
        from confluent_kafka import Producer

        failed: list[Any] = []
        # Idempotent: offsets are counted here, and a retry after a lost reply must not add to them.
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "log_level": 0, "enable.idempotence": True, "acks": "all"}
        )
        for number in range(EACH * PARTITIONS):
            producer.produce(
                self.topic,
                b"%d" % number,
                partition=number % PARTITIONS,
                on_delivery=lambda error, _message: failed.append(error) if error else None,
            )
        if producer.flush(SETTLE_S) or failed:
            raise AssertionError(f"could not fill the topic: {failed[:1]}")
        self._each += EACH
        return dict.fromkeys(range(PARTITIONS), self._each)

    def committed(self) -> dict[int, int]:
        """Return the committed offsets of the group, once its coordinator is ready."""
        return committed(self._bootstrap, self.group, self.topic)


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Return the committed offsets of a group, once its coordinator is ready; -1001 for none."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    asked = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    found: dict[int, int] = {}

    def told() -> bool:
        try:
            found.update({place.partition: place.offset for place in consumer.committed(asked, SETTLE_S)})
        except KafkaException as error:
            if error.args[0].name() not in _NOT_READY:
                raise
        return bool(found)

    until("the coordinator is ready", told)
    consumer.close()
    return found


def group(command: Sequence[str], broker: Broker) -> str:
    """Three members join, one leaves, one is killed, the last leaves; returns how long each took.

    :raises AssertionError: the group did not settle, a record was skipped, or a commit is not there.
    """
    feed = Feed(broker.bootstrap)
    with Members([*command, "member", broker.bootstrap, feed.group, feed.topic]) as members:
        stays, dies, leaves = [members.join(str(session)) for session in (LONG_MS, SHORT_MS, LONG_MS)]
        ends = feed.more()
        joined = members.wait("three members share 6 partitions", members.settled, SETTLE_S)
        members.wait("all is read", lambda: members.have_read(ends), SETTLE_S)
        members.leave(leaves)
        ends = feed.more()
        left = members.wait("two members share them after one has left", members.settled, LEFT_S)
        members.wait("all is read after one has left", lambda: members.have_read(ends), SETTLE_S)
        members.kill(dies)
        ends = feed.more()
        died = members.wait("one member owns all after one has died", members.settled, SETTLE_S)
        members.wait("all is read after one has died", lambda: members.have_read(ends), SETTLE_S)
        members.leave(stays)
    until("all that was read is committed", lambda: feed.committed() == ends)
    return (
        f"settled {joined:.1f} s after three joined, {left:.1f} s after one left, {died:.1f} s after one died"
    )


def read_all(members: Members, ends: dict[int, int]) -> float:
    """Wait until three members share the partitions and have read all; the seconds that took."""
    return members.wait("all is read", lambda: members.settled() and members.have_read(ends), SETTLE_S)


def restart(command: Sequence[str], broker: Broker) -> str:
    """Three members with default settings; the broker is stopped and started, killed and started.

    :raises AssertionError: the group did not settle again, a record or a commit was lost, or a member ended.
    """
    feed = Feed(broker.bootstrap)
    with Members([*command, "member", broker.bootstrap, feed.group, feed.topic]) as members:
        for _ in range(3):
            members.join("0")
        members.wait("three members share 6 partitions", members.settled, SETTLE_S)
        took = []
        for end in (broker.stop, broker.kill):
            ends = feed.more()
            read_all(members, ends)
            until("all that was read is committed", lambda ends=ends: feed.committed() == ends)  # type: ignore[misc]
            end()
            broker.start()
            # At once: members keep their positions, and would hide a loss by committing them again.
            same(feed.committed(), ends, "committed before the broker ended")
            ends = feed.more()
            took.append(read_all(members, ends))
        for member in list(members.present):
            members.leave(member)
    until("all that was read is committed", lambda: feed.committed() == ends)
    return f"all read {took[0]:.1f} s after a clean restart, {took[1]:.1f} s after kill -9"
