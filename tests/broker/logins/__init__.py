"""Tests of kafkatx.broker.logins."""
