"""Logins, credentials and access control, without a transport: pure, but for files that settings name."""
