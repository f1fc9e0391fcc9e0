"""Tests of kafkatx.clientcore.legacy.zookeeper."""
