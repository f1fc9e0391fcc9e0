"""Tests of the metadata store of a cluster."""
