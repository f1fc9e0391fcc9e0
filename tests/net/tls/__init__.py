"""Tests of kafkatx.net.tls."""
