"""Writing to topics over plain sockets."""
