"""The listeners of a broker for Kafka clients and other brokers."""
