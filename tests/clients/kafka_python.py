"""The scenario of kafka-python. Variants: ``now``, or a broker's version: ``0.8.2``, ``0.9``, ``0.10``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from kafka import (
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
    __version__,
)
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

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
    copies,
    main,
    new_name,
    same,
    until,
)

WAIT_MS = int(WAIT_S * 1000)


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Tells the runner what a member owns."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def on_partitions_assigned(self, assigned: Any) -> None:
        """Called with those that came."""
        self._told.assigned(place.partition for place in assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Called with those that go."""
        self._told.revoked(place.partition for place in revoked)


class KafkaPython(Scenario):
    """kafka-python."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        super().__init__(variant, bootstrap)
        old = None if variant == "now" else tuple(map(int, variant.split(".")))
        self.old = old or ()
        self.conf: dict[str, Any] = {"bootstrap_servers": bootstrap, "api_version": old}

    def version(self) -> str:
        """The library's."""
        return str(__version__)

    def admin(self) -> Any:
        """An admin client."""
        return KafkaAdminClient(**self.conf)

    def new_topic(self, **config: str) -> str:
        """A topic of 6 partitions. Before CreateTopics asking for one made it."""
        topic = new_name()
        if self.old:
            producer = KafkaProducer(**self.conf)
            until("a topic is created by asking for it", lambda: producer.partitions_for(topic))
            producer.close()
        else:
            made = {topic: {"num_partitions": PARTITIONS, "replication_factor": copies(), "configs": config}}
            self.admin().create_topics(made, wait_for_metadata=True)
            consumer = self.consumer()
            consumer.end_offsets(self.places(topic))  # answered by leaders that are ready: see topics.py
            consumer.close()
        return topic

    def produce(self, topic: str, pairs: Sequence[Pair], timestamp: int | None = None, **conf: Any) -> None:
        """Produce by key; every delivery is confirmed."""
        if self.old:  # not idempotent: a retry, as a topic just created may need, must not overtake
            conf["max_in_flight_requests_per_connection"] = 1
        producer = KafkaProducer(**self.conf, acks="all", linger_ms=5, **conf)
        sent = [producer.send(topic, value, key, timestamp_ms=timestamp) for key, value in pairs]
        producer.flush(WAIT_S)
        for future in sent:
            future.get(WAIT_S)
        producer.close()

    def consumer(self, group: str | None = None, **conf: Any) -> Any:
        """A consumer that starts at the beginning."""
        return KafkaConsumer(
            **self.conf, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", **conf
        )

    def places(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    def read(self, consumer: Any, count: int) -> Iterator[Any]:
        """The next *count* messages."""
        end = time.monotonic() + WAIT_S
        while count:
            batches = consumer.poll(timeout_ms=1000, max_records=count)
            for batch in batches.values():
                count -= len(batch)
                yield from batch
            if time.monotonic() > end:
                raise AssertionError(f"{count} messages did not come")

    def read_all(self, topic: str, count: int, **conf: Any) -> list[Any]:
        """All of a topic, by assignment."""
        consumer = self.consumer(**conf)
        consumer.assign(self.places(topic))
        found = list(self.read(consumer, count))
        consumer.close()
        return found

    def check(self, found: Sequence[Any], sent: Sequence[Pair]) -> None:
        """Raise unless these messages are those that were sent."""
        check_keyed([(message.partition, message.key, message.value) for message in found], sent)

    def create_topics(self) -> None:
        """``create_topics`` and ``describe_topics``."""
        topic, admin = self.new_topic(**{"retention.ms": "3600000"}), self.admin()
        same([len(told["partitions"]) for told in admin.describe_topics([topic])], [PARTITIONS], "partitions")
        same(
            self.config(admin, ConfigResourceType.TOPIC, topic)["retention.ms"]["value"], "3600000", "config"
        )
        admin.close()

    def produce_keyed(self) -> None:
        """``send`` with a key."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        self.check(self.read_all(topic, len(SENT)), SENT)

    def produce_compressed(self) -> str:
        """``compression_type``."""
        # With magic 0, whose LZ4 frames have a checksum of their own, the library's LZ4 needs xxhash.
        codecs = ["gzip", "snappy", *(["lz4"] if not self.old or self.old >= (0, 10) else [])]
        codecs += [] if self.old else ["zstd"]
        for codec in codecs:
            topic = self.new_topic()
            self.produce(topic, BIG, compression_type=codec)
            self.check(self.read_all(topic, len(BIG)), BIG)
        return ", ".join(codecs) + ("; LZ4 of that time needs xxhash" if "lz4" not in codecs else "")

    def consume(self) -> None:
        """``assign`` and ``poll``, and the ends by ``end_offsets``."""
        topic = self.new_topic()
        self.produce(topic, SENT)
        found = [(message.partition, message.offset) for message in self.read_all(topic, len(SENT))]
        consumer = self.consumer()
        for place, end in consumer.end_offsets(self.places(topic)).items():
            offsets = [offset for partition, offset in found if partition == place.partition]
            same(offsets, list(range(end)), "offsets")
        consumer.close()

    def commit(self) -> None:
        """``commit`` with metadata, and ``committed``."""
        topic, group = self.new_topic(), new_name("group")
        self.produce(topic, SENT)
        first = self.consumer(group)
        self.begin(first, topic)
        seen = {(message.partition, message.offset) for message in self.read(first, 100)}
        ends = {p: max((o for q, o in seen if q == p), default=-1) + 1 for p in range(PARTITIONS)}
        offsets = {
            TopicPartition(topic, p): OffsetAndMetadata(end, f"at {end}", -1) for p, end in ends.items()
        }
        first.commit(offsets)
        first.close()
        second = self.consumer(group)
        self.begin(second, topic)
        for place, offset in offsets.items():
            told = second.committed(place, metadata=True)
            same((told.offset, told.metadata), (offset.offset, offset.metadata), "committed")
        rest = {(message.partition, message.offset) for message in self.read(second, len(SENT) - 100)}
        same((len(rest), rest & seen), (len(SENT) - 100, set()), "the rest")
        second.close()

    def begin(self, consumer: Any, topic: str) -> None:
        """Subscribe; where there are no members yet, in 0.8, take all partitions."""
        if self.old == (0, 8, 2):
            consumer.assign(self.places(topic))
        else:
            consumer.subscribe([topic])

    def seek_by_time(self) -> None:
        """``offsets_for_times``, then ``seek``."""
        topic, now = self.new_topic(), int(time.time() * 1000)
        self.produce(topic, SENT, now - 60_000)
        self.produce(topic, BIG, now)
        consumer = self.consumer()
        consumer.assign(self.places(topic))
        for place, start in consumer.offsets_for_times(dict.fromkeys(self.places(topic), now - 1000)).items():
            if start is None:
                consumer.seek_to_end(place)
            else:
                consumer.seek(place, start.offset)
        found = list(self.read(consumer, len(BIG)))
        self.check(found, BIG)
        same({message.timestamp for message in found}, {now}, "timestamps")
        consumer.close()

    def config(self, admin: Any, kind: Any, name: str) -> Any:
        """The settings of a topic or a broker."""
        told = admin.describe_configs([ConfigResource(kind, name)], config_filter="all")
        return told[kind.name.lower()][name]

    def topic_config(self, admin: Any, topic: str, name: str) -> Any:
        """One setting's value."""
        return self.config(admin, ConfigResourceType.TOPIC, topic)[name]["value"]

    def alter(self, admin: Any, topic: str, value: str, incremental: bool) -> None:
        """Set a topic's ``max.message.bytes`` and see it."""
        change = ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": value})
        same(admin.alter_configs([change], incremental=incremental), {"topic": {topic: "OK"}}, "altered")
        until("the change", lambda: self.topic_config(admin, topic, "max.message.bytes") == value)

    def configs(self) -> None:
        """``describe_configs``; ``alter_configs`` by both of the protocol's requests."""
        topic, admin = self.new_topic(**{"retention.ms": "3600000"}), self.admin()
        self.alter(admin, topic, "54321", incremental=True)
        self.alter(admin, topic, "54322", incremental=False)
        same(self.topic_config(admin, topic, "retention.ms"), "3600000", "retention.ms")
        broker = str(admin.describe_cluster()["brokers"][0]["broker_id"])
        if "log.dirs" not in self.config(admin, ConfigResourceType.BROKER, broker):
            raise AssertionError("the broker tells no log.dirs")
        admin.close()

    def create_partitions(self) -> None:
        """``create_partitions``."""
        topic, admin = self.new_topic(), self.admin()
        admin.create_partitions({topic: 8})
        until("8 partitions", lambda: len(admin.describe_topics([topic])[0]["partitions"]) == 8)
        admin.close()

    def manage_groups(self) -> str:
        """``list_groups``, ``describe_groups``, offsets altered and listed, ``delete_groups``."""
        topic, group, admin = self.new_topic(), new_name("group"), self.admin()
        consumer = self.consumer(group)
        consumer.subscribe([topic])
        # a shorter poll may end before the join does, and the next one then joins anew (kafka-python 3.0)
        until("an assignment", lambda: consumer.poll(1000) or len(consumer.assignment()) == PARTITIONS)
        described = admin.describe_groups([group])[group]
        same((described["group_state"], len(described["members"])), ("Stable", 1), "state, members")
        same(group in {told["group_id"] for told in admin.list_groups()}, True, "listed")
        consumer.close()
        until(
            "an empty group",
            lambda: admin.describe_groups([group])[group]["group_state"] in ("Empty", "Dead"),
        )
        if self.old:
            admin.close()
            return "list and describe; the client of that time has no more"
        place = TopicPartition(topic, 0)
        admin.alter_group_offsets(group, {place: OffsetAndMetadata(5, "", -1)})
        same(admin.list_group_offsets(group)[group][place].offset, 5, "offset")
        same(admin.delete_groups([group]), {group: "OK"}, "deleted")
        same(group in {told["group_id"] for told in admin.list_groups()}, False, "listed after deleting")
        admin.close()
        return ""

    def delete_records(self) -> None:
        """``delete_records``, and ``beginning_offsets``."""
        topic, admin = self.new_topic(), self.admin()
        self.produce(topic, SENT)
        place = TopicPartition(topic, 0)
        same(admin.delete_records({place: 5})[place]["low_watermark"], 5, "low watermark")
        consumer = self.consumer()
        same(consumer.beginning_offsets([place]), {place: 5}, "earliest")
        consumer.close()
        admin.close()

    def delete_topics(self) -> None:
        """``delete_topics``."""
        topic, admin = self.new_topic(), self.admin()
        admin.delete_topics([topic])
        until("the topic is gone", lambda: topic not in str(admin.list_topics()))
        admin.close()

    def transactions(self) -> None:
        """Begin, send, abort or commit; one that also commits offsets."""
        topic, group = self.new_topic(), new_name("group")
        producer = KafkaProducer(**self.conf, transactional_id=new_name("id"))
        producer.init_transactions()
        for pairs, end in ((BIG, producer.abort_transaction), (SENT, producer.commit_transaction)):
            producer.begin_transaction()
            for key, value in pairs:
                producer.send(topic, value, key)
            producer.flush(WAIT_S)
            end()
        self.check(self.read_all(topic, len(SENT), isolation_level="read_committed"), SENT)
        # one that reads committed records waits for stable offsets, too (KIP-447)
        consumer = self.consumer(group, isolation_level="read_committed")
        place = TopicPartition(topic, 0)
        producer.begin_transaction()
        producer.send_offsets_to_transaction({place: OffsetAndMetadata(7, "", -1)}, consumer.group_metadata())
        producer.commit_transaction()
        same(consumer.committed(place), 7, "committed")
        producer.close()
        consumer.close()

    def produce_numbered(self, numbered: Numbered) -> None:
        """``send`` with ``add_callback`` and ``add_errback``; idempotent."""
        producer = KafkaProducer(**self.conf, enable_idempotence=True, acks="all")
        for number, partition, value in numbered.paced():
            sent = producer.send(numbered.topic, value, partition=partition)
            sent.add_callback(lambda told, n=number: numbered.acknowledged(n, told.partition, told.offset))
            sent.add_errback(lambda error, n=number: numbered.failed(n, error))
        producer.flush()
        producer.close()

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``subscribe`` with a listener; commits what it has processed."""
        conf: dict[str, Any] = {}
        if session_ms:
            conf = {"session_timeout_ms": session_ms, "heartbeat_interval_ms": 300}
        consumer = self.consumer(group, **conf)
        consumer.subscribe([topic], listener=Listener(told))
        while not told.leave.is_set():
            # Longer than a rebalance takes: 3.0.12 loses an assignment, and stops its heartbeats, when it
            # leads, rejoins for new metadata, and poll() times out between its JoinGroup and SyncGroup.
            batches = consumer.poll(timeout_ms=1000)
            if batches:
                told.read((m.partition, m.offset) for batch in batches.values() for m in batch)
                try:
                    consumer.commit()
                except KafkaError:
                    continue  # a rebalance has begun: the next owner of the partition reads these again
        consumer.close()


if __name__ == "__main__":
    main(KafkaPython)
