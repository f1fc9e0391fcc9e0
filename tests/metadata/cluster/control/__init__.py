"""Tests of the role of the controller."""
