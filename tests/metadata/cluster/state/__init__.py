"""Tests of the image of the cluster."""
