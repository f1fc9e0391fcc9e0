"""With kafkatx installed, pytest has the fixture ``kafkatx_broker``: one broker for the whole session."""

from confluent_kafka import Producer

from kafkatx.testing import EmbeddedBroker


def test_a_message_is_delivered(kafkatx_broker: EmbeddedBroker) -> None:
    """The broker acknowledges what a producer sends."""
    outcomes = []
    producer = Producer({"bootstrap.servers": kafkatx_broker.bootstrap})
    producer.produce(
        "orders", b"42", on_delivery=lambda error, message: outcomes.append((error, message.offset()))
    )
    assert producer.flush(10) == 0
    assert outcomes == [(None, 0)]
