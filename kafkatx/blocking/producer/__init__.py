"""Writing to topics over plain sockets, for the blocking client."""
