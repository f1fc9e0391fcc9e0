"""The Kafka wire protocol, sans I/O: frames, headers, and every message of every version served."""
