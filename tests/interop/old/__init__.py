"""Apache Kafka 0.8.2's consumer, and its tools."""
