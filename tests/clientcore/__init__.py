"""Tests of kafkatx.clientcore."""
