"""Tests of kafkatx.client.producer.transactions."""
