"""Administration over plain sockets."""
