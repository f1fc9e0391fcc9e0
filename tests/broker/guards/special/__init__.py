"""Tests of kafkatx.broker.guards.special."""
