"""Tests of ``kafkatx.client.consumer.group``."""
