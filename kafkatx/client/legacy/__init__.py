"""SimpleConsumer and ConsumerConnector of Kafka 0.7."""
