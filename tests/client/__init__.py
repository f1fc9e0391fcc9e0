"""Tests of kafkatx.client: a clock, transports of strings, brokers made of answers."""
