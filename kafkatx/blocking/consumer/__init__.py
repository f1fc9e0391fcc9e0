"""Reading partitions over plain sockets, for the blocking client."""
