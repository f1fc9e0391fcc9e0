"""SimpleConsumer and ConsumerConnector of Kafka 0.7: requests and topic filters."""
