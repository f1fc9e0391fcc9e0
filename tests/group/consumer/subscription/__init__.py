"""Tests of ``kafkatx.group.consumer.subscription``."""
