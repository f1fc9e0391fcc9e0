"""Tests of kafkatx.config.table.security."""
