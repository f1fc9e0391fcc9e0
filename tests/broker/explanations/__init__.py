"""Tests of kafkatx.broker.explanations."""
