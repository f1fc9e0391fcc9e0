"""Tests of the commands of brokers."""
