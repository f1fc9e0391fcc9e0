"""Administration over plain sockets, for short commands."""
