"""Tests of kafkatx.net."""
