"""Facts about a process and its machine."""
