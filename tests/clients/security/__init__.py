"""Clients that log in, over TLS: each of them by each mechanism, and for longer than a session lasts."""
