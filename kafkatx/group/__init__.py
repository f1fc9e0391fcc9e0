"""Consumer groups, sans-I/O: requests and time in, replies and records out; nothing here waits or writes."""
