"""The SimpleConsumer and ConsumerConnector of Kafka 0.7 and of the 2011 paper, on today's protocol."""
