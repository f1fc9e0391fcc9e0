"""Tests of kafkatx.broker.listeners."""
