"""The Kafka wire protocol without I/O: frames, headers, and the messages of every supported version."""
