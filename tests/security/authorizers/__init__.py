"""Tests of kafkatx.security.authorizers."""
