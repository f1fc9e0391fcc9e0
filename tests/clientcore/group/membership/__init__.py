"""Tests of kafkatx.clientcore.group.membership."""
