"""Appends to a log: validation, offsets and staging, for a leader and for a follower."""
