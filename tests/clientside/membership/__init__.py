"""Tests of kafkatx.clientside.membership."""
