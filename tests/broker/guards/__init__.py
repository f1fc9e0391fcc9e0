"""Tests of kafkatx.broker.guards."""
