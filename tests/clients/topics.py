"""Topics made by librdkafka, and ready: for scenarios and members that only need one."""

from __future__ import annotations

from typing import Any

from tests.clients.features import PARTITIONS
from tests.clients.scenario import WAIT_S, copies, new_name, until

_NOT_LED = {"_NOENT", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "UNKNOWN_TOPIC_OR_PART"}
"""What librdkafka says of a partition whose leader nobody knows yet, or which does not know itself."""


def new_topic(admin: Any, **config: str) -> str:
    """Create a topic of 6 partitions with confluent-kafka's *admin*; return its name when it takes records.

    That a topic is created does not mean that its leaders know. Apache Kafka then refuses the first batch of
    an idempotent producer, takes the second, and refuses the first for ever (KAFKA-14359, KAFKA-15591).
    """
    from confluent_kafka.admin import NewTopic

    topic = new_name()
    admin.create_topics([NewTopic(topic, PARTITIONS, copies(), config=config)])[topic].result(WAIT_S)
    until("the partitions of a new topic are led", lambda: led(admin, topic))
    return topic


def led(admin: Any, topic: str) -> bool:
    """Return True if each partition tells its end, which only a leader does."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}
    try:
        return all(told.result(WAIT_S).offset == 0 for told in admin.list_offsets(asked).values())
    except KafkaException as error:
        if error.args[0].name() in _NOT_LED:
            return False
        raise
