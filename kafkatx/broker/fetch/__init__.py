"""Fetch requests: what each kind of client reads, measured and read for one request at a time."""
