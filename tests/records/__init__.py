"""Tests of kafkatx.records, the message formats."""
