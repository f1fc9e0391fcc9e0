"""Tests of kafkatx.clientcore.group.assignors."""
