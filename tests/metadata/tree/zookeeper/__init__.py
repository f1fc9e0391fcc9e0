"""Tests of kafkatx.metadata.tree.zookeeper."""
