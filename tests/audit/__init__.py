"""Tests of kafkatx.audit; with a broker in tests/integration/test_audit.py."""
