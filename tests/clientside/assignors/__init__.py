"""Tests of kafkatx.clientside.assignors."""
