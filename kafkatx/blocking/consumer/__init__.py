"""Reading partitions over plain sockets."""
