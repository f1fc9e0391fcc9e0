"""Tests of the handlers, a module per API."""
