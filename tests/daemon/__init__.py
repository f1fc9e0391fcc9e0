"""Tests of the process of a broker."""
