"""The fixture ``kafkatx_fresh_broker``: a broker for one test, with settings of the test module's own."""

import pytest
from confluent_kafka import Consumer, KafkaException

from kafkatx.testing import EmbeddedBroker


@pytest.fixture
def kafkatx_settings() -> dict[str, object]:
    """The settings of this module's brokers."""
    return {"num.partitions": 3, "auto.create.topics.enable": False}


def test_an_unknown_topic(kafkatx_fresh_broker: EmbeddedBroker) -> None:
    """A consumer reports a topic that does not exist and is not created."""
    consumer = Consumer({"bootstrap.servers": kafkatx_fresh_broker.bootstrap, "group.id": "g"})
    consumer.subscribe(["absent"])
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        message = consumer.poll(10)
        raise KafkaException(message and message.error())
    consumer.close()
