"""A producer whose first reply is lost: its message is there once nevertheless."""

from confluent_kafka import Producer

from kafkatx.testing import EmbeddedBroker

with EmbeddedBroker() as broker:
    topic = broker.topic("orders")
    lost = broker.faults.lose_reply("Produce", topic=topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    producer.produce(topic, b"42")
    producer.flush()
    assert lost.hits == 1
    assert [message.value for message in broker.messages(topic)] == [b"42"]
