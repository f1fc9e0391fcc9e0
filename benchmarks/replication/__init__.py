"""Three brokers with three copies of each partition, beside three of Apache Kafka: see ``__main__``."""
