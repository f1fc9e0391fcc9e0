"""Tests of the dashboard and the alerts."""
