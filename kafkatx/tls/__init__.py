"""TLS without a transport: settings, keystores, principals, and contexts for plain sockets."""
