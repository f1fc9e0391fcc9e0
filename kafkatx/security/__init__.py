"""Logins and credentials without a transport: pure, but for reading files that settings name."""
