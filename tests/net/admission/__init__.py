"""Tests of kafkatx.net.admission."""
