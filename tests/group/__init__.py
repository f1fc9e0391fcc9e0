"""Tests of the machines of groups: plain calls, and integers for the time."""
