"""The scenario of confluent-kafka, that is librdkafka. Variants: ``classic``, ``consumer`` (KIP-848)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    libversion,
    version,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)

from tests.clients.features import PARTITIONS
from tests.clients.scenario import (
    BIG,
    SENT,
    WAIT_S,
    Numbered,
    Pair,
    Scenario,
    Told,
    check_keyed,
    main,
    new_name,
    same,
    until,
)
from tests.clients.topics import new_topic

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Confluent(Scenario):
    """confluent-kafka."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        super().__init__(variant, bootstrap)
        # One for all: what a client has promised it forgets when it is collected.
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def version(self) -> str:
        """Those of the binding and of librdkafka."""
        return f"{version()}, librdkafka {libversion()[0]}"

    def new_topic(self, **config: str) -> str:
        """A topic of 6 partitions."""
        return new_topic(self._admin, **config)

    def produce(self, topic: str, pairs: Sequence[Pair], timestamp: int = 0, codec: str = "none") -> None:
        """Produce by key; every delivery is confirmed."""
        failed: list[Any] = []
        settings = {"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0}
        producer = Producer(settings | {"enable.idempotence": True, "compression.type": codec})
        for key, value in pairs:
            producer.produce(
                topic,
                value,
                key,
                timestamp=timestamp,
                on_delivery=lambda error, _message: failed.append(error) if error else None,
            )
        same((producer.flush(WAIT_S), failed), (0, []), "undelivered and failed")

    def consumer(self, group: str, **conf: Any) -> Any:
        """A consumer that starts at the beginning."""
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
                **({"group.protocol": "consumer"} if self.variant == "consumer" else {}),
                **conf,
            }
        )

    def read(self, consumer: Any, count: int) -> list[Message]:
        """The next *count* messages."""
        found: list[Message] = []
        while len(found) < count:
            batch = consumer.consume(count - len(found), timeout=WAIT_S)
            if not batch:
                raise AssertionError(f"only {len(found)} of {count} messages came")
            for message in batch:
                if message.error():
                    raise KafkaException(message.error())
            found += batch
        return found

    def read_all(self, topic: str, count: int, **conf: Any) -> list[tuple[int, bytes, bytes]]:
        """All of a topic, by assignment: (partition, key, value)."""
        consumer = self.consumer("unused", **conf)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        found = self.read(consumer, count)
        consumer.close()
        return [(message.partition(), message.key(), message.value()) for message in found]

    def create_topics(self) -> None:
        """``AdminClient.create_topics``."""
        topic = self.new_topic(**{"retention.ms": "3600000"})
        same(len(self._admin.list_topics(topic, WAIT_S).topics[topic].partitions), PARTITIONS, "partitions")
        same(self.config(ResourceType.TOPIC, topic)["retention.ms"].value, "3600000", "retention.ms")

    def produce_keyed(self) -> None:
        """``Producer.produce``."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        check_keyed(self.read_all(topic, len(SENT)))

    def produce_compressed(self) -> str:
        """``compression.type``."""
        for codec in CODECS:
            topic = self.new_topic()
            self.produce(topic, BIG, codec=codec)
            check_keyed(self.read_all(topic, len(BIG)), BIG)
        return ", ".join(CODECS)

    def consume(self) -> None:
        """``assign``, ``consume`` and the end of each partition."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        reader, asking = self.consumer("unused"), self.consumer("unused")
        places = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
        reader.assign(places)
        found = [(message.partition(), message.offset()) for message in self.read(reader, len(SENT))]
        for place in places:
            # asked by another: on the reader's connection it would wait for the fetch that is going on
            low, high = asking.get_watermark_offsets(place, WAIT_S)
            offsets = [offset for partition, offset in found if partition == place.partition]
            same(offsets, list(range(low, high)), "offsets")
        reader.close()
        asking.close()

    def commit(self) -> None:
        """``commit(offsets=...)`` with metadata, and ``committed``."""
        topic, group = self.new_topic(), new_name("group")
        self.produce(topic, SENT)
        first = self.consumer(group)
        first.subscribe([topic])
        seen = {(m.partition(), m.offset()) for m in self.read(first, 100)}
        ends = {p: max((o for q, o in seen if q == p), default=-1) + 1 for p in range(PARTITIONS)}
        first.commit(
            offsets=[TopicPartition(topic, p, end, metadata=f"at {end}") for p, end in ends.items()],
            asynchronous=False,
        )
        first.close()
        second = self.consumer(group)
        asked = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        told = {place.partition: (place.offset, place.metadata) for place in second.committed(asked, WAIT_S)}
        same(told, {partition: (end, f"at {end}") for partition, end in ends.items()}, "committed")
        second.subscribe([topic])
        rest = {(m.partition(), m.offset()) for m in self.read(second, len(SENT) - 100)}
        same((len(rest), rest & seen), (len(SENT) - 100, set()), "the rest")
        second.close()

    def seek_by_time(self) -> None:
        """``offsets_for_times``, then ``seek``."""
        topic, now = self.new_topic(), int(time.time() * 1000)
        self.produce(topic, SENT, now - 60_000)
        self.produce(topic, BIG, now)
        consumer = self.consumer("unused")
        asked = [TopicPartition(topic, partition, now - 1000) for partition in range(PARTITIONS)]
        starts = consumer.offsets_for_times(asked, WAIT_S)
        consumer.assign(starts)
        found = self.read(consumer, len(BIG))
        check_keyed([(m.partition(), m.key(), m.value()) for m in found], BIG)
        same({m.timestamp()[1] for m in found}, {now}, "timestamps")
        consumer.close()

    def config(self, kind: Any, name: str) -> Any:
        """The settings of a topic or a broker."""
        resource = ConfigResource(kind, name)
        return self._admin.describe_configs([resource])[resource].result(WAIT_S)

    def configs(self) -> None:
        """``describe_configs`` and ``incremental_alter_configs``."""
        topic, admin = self.new_topic(**{"retention.ms": "3600000"}), self._admin
        change = ConfigEntry("max.message.bytes", "54321", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(WAIT_S)
        until(
            "the change", lambda: self.config(ResourceType.TOPIC, topic)["max.message.bytes"].value == "54321"
        )
        told = self.config(ResourceType.TOPIC, topic)
        same(told["retention.ms"].value, "3600000", "retention.ms")
        same(told["max.message.bytes"].is_default, False, "is_default")
        broker = str(next(iter(admin.list_topics(timeout=WAIT_S).brokers)))
        if "log.dirs" not in self.config(ResourceType.BROKER, broker):
            raise AssertionError("the broker tells no log.dirs")

    def create_partitions(self) -> None:
        """``create_partitions``."""
        topic, admin = self.new_topic(), self._admin
        admin.create_partitions([NewPartitions(topic, 8)])[topic].result(WAIT_S)
        until("8 partitions", lambda: len(admin.list_topics(topic, WAIT_S).topics[topic].partitions) == 8)

    def manage_groups(self) -> None:
        """``list``, ``describe`` and ``delete_consumer_groups``; offsets altered and listed."""
        topic, group, admin = self.new_topic(), new_name("group"), self._admin
        consumer = self.consumer(group)
        consumer.subscribe([topic])
        until(
            "an assignment", lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == PARTITIONS
        )
        described = self.describe(admin, group)
        same((described.state, len(described.members)), (ConsumerGroupState.STABLE, 1), "state, members")
        same(len(described.members[0].assignment.topic_partitions), PARTITIONS, "assignment")
        consumer.close()
        until("an empty group", lambda: self.describe(admin, group).state == ConsumerGroupState.EMPTY)
        places = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 5)])
        admin.alter_consumer_group_offsets([places])[group].result(WAIT_S)
        asked = ConsumerGroupTopicPartitions(group)
        told = admin.list_consumer_group_offsets([asked])[group].result(WAIT_S)
        same([(p.partition, p.offset) for p in told.topic_partitions], [(0, 5)], "offsets")
        same(group in self.group_ids(admin), True, "listed")
        admin.delete_consumer_groups([group])[group].result(WAIT_S)
        same(group in self.group_ids(admin), False, "listed after deleting")

    def describe(self, admin: Any, group: str) -> Any:
        """One group's description."""
        return admin.describe_consumer_groups([group])[group].result(WAIT_S)

    def group_ids(self, admin: Any) -> set[str]:
        """The ids of all groups."""
        told = admin.list_consumer_groups().result(WAIT_S)
        same(told.errors, [], "errors")
        return {group.group_id for group in told.valid}

    def delete_records(self) -> None:
        """``delete_records``, and the earliest offset by ``list_offsets``."""
        topic, admin = self.new_topic(), self._admin
        self.produce(topic, SENT)
        place = TopicPartition(topic, 0, 5)
        same(admin.delete_records([place])[place].result(WAIT_S).low_watermark, 5, "low watermark")
        asked = TopicPartition(topic, 0)
        same(admin.list_offsets({asked: OffsetSpec.earliest()})[asked].result(WAIT_S).offset, 5, "earliest")

    def delete_topics(self) -> None:
        """``delete_topics``."""
        topic, admin = self.new_topic(), self._admin
        admin.delete_topics([topic])[topic].result(WAIT_S)
        until("the topic is gone", lambda: topic not in admin.list_topics(timeout=WAIT_S).topics)

    def transactions(self) -> None:
        """Begin, send, abort or commit; one that also commits offsets."""
        topic, group = self.new_topic(), new_name("group")
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "transactional.id": new_name("id"), "log_level": 0}
        )
        producer.init_transactions(WAIT_S)
        for pairs, end in ((BIG, producer.abort_transaction), (SENT, producer.commit_transaction)):
            producer.begin_transaction()
            for key, value in pairs:
                producer.produce(topic, value, key)
            producer.flush(WAIT_S)
            end(WAIT_S)
        check_keyed(self.read_all(topic, len(SENT)))
        consumer = self.consumer(group)
        producer.begin_transaction()
        place = TopicPartition(topic, 0, 7)
        producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), WAIT_S)
        producer.commit_transaction(WAIT_S)
        same(consumer.committed([TopicPartition(topic, 0)], WAIT_S)[0].offset, 7, "committed")
        consumer.close()

    def produce_numbered(self, numbered: Numbered) -> None:
        """``produce`` with ``on_delivery``; idempotent."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})

        def settle(number: int, error: Any, message: Any) -> None:
            if error:
                numbered.failed(number, error)
            else:
                numbered.acknowledged(number, message.partition(), message.offset())

        for number, partition, value in numbered.paced():
            producer.produce(numbered.topic, value, partition=partition, on_delivery=partial(settle, number))
            producer.poll(0)
        producer.flush()

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``subscribe`` with the three callbacks; commits what it has processed."""
        conf: dict[str, Any] = {}
        if session_ms and self.variant == "classic":
            conf = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": 300}
        consumer = self.consumer(group, **conf)
        consumer.subscribe(
            [topic],
            on_assign=lambda _, places: told.assigned(place.partition for place in places),
            on_revoke=lambda _, places: told.revoked(place.partition for place in places),
            on_lost=lambda _, places: told.revoked(place.partition for place in places),
        )
        while not told.leave.is_set():
            found = [m for m in consumer.consume(100, timeout=0.1) if not m.error()]
            if found:
                told.read((m.partition(), m.offset()) for m in found)
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException:
                    continue  # a rebalance has begun: the next owner of the partition reads these again
        consumer.close()


if __name__ == "__main__":
    main(Confluent)
