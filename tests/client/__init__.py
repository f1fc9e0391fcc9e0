"""Tests of kafkatx.client: a clock, string transports, and brokers made of prepared answers."""
