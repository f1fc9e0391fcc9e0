"""Tests of kafkatx.clientcore.transactions."""
