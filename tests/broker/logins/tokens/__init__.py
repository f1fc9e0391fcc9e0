"""Tests of kafkatx.broker.logins.tokens."""
