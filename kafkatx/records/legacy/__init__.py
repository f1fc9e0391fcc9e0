"""Message formats magic 0 (Kafka 0.8) and magic 1 (0.10)."""
