"""Logins of people to the console: sessions, and the principals of requests."""
