"""TLS of listeners, with Twisted and pyOpenSSL; imported only where a listener has it."""
