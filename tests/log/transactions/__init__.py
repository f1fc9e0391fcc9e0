"""Tests of kafkatx.log.transactions."""
