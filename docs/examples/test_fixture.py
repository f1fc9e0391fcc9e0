"""With kafkatx installed, pytest has the fixture ``kafkatx_broker``: one broker for the whole session."""

from confluent_kafka import Producer

from kafkatx.testing import EmbeddedBroker


def test_a_message_is_delivered(kafkatx_broker: EmbeddedBroker) -> None:
    """The broker has what a producer sends."""
    orders = kafkatx_broker.topic("orders", partitions=3)
    producer = Producer({"bootstrap.servers": kafkatx_broker.bootstrap})
    producer.produce(orders, b"42", key=b"ann", partition=2)
    assert producer.flush(10) == 0
    (message,) = kafkatx_broker.messages(orders, count=1)
    assert (message.key, message.value, message.partition) == (b"ann", b"42", 2)
