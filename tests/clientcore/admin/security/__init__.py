"""Tests of kafkatx.clientcore.admin.security."""
