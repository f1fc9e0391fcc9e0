"""Tests of the contract of metadata stores of a cluster."""
