"""The partitions that this broker has: produce, fetch, waiting requests, log dirs."""
