"""Twisted transports: the server's connections, sending from files, worker threads."""
