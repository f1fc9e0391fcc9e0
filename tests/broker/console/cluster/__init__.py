"""Tests of the figures of the cluster."""
