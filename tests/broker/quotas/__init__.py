"""Tests of kafkatx.broker.quotas."""
