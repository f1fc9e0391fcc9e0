"""Tests of kafkatx.broker.authorization."""
