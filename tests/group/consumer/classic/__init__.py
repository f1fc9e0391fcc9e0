"""Tests of ``kafkatx.group.consumer.classic``."""
