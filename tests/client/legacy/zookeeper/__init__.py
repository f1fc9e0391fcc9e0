"""Tests of kafkatx.client.legacy.zookeeper."""
