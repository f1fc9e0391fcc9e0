"""Tests of :mod:`kafkatx.broker.console.messages`."""
