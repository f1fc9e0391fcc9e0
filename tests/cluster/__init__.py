"""Tests of a real cluster of three brokers and ZooKeeper under faults, with a checker of what clients saw."""
