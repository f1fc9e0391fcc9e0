"""Two brokers; a client that knows one of them still consumes after the other has been killed and is back."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kafkatx.testing import EmbeddedCluster

with EmbeddedCluster(2, run_in="process") as cluster:
    topic = cluster.topic("words", partitions=2)  # one on each broker
    with KafkaProducer(bootstrap_servers=cluster.brokers[1].bootstrap) as producer:
        for partition in (0, 1):
            producer.send(topic, b"in partition %d" % partition, partition=partition)

    cluster.brokers[2].kill()
    cluster.start_broker(2)

    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id=None, auto_offset_reset="earliest")
    for partition in (0, 1):
        consumer.assign([TopicPartition(topic, partition)])
        print(next(consumer).value.decode())
    consumer.close()
