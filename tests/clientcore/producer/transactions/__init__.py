"""Tests of kafkatx.clientcore.producer.transactions."""
