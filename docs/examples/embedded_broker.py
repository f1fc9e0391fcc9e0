"""A broker for the length of a block, and a client that knows only its address."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kafkatx.testing import EmbeddedBroker

with EmbeddedBroker({"num.partitions": 1}) as broker:
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for word in (b"one", b"two", b"three"):
            producer.send("words", word)

    partition = TopicPartition("words", 0)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=None, auto_offset_reset="earliest")
    consumer.assign([partition])
    for _ in range(3):
        print(next(consumer).value.decode())
    consumer.close()
