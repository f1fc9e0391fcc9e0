"""Tests of kafkatx.broker.explanations.rules."""
