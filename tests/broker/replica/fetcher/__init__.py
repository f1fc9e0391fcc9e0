"""Tests of the follower's side of replication."""
