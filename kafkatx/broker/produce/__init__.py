"""Produce requests: validation of their records in a worker, and the answers once they are written."""
