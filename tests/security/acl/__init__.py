"""Tests of kafkatx.security.acl."""
