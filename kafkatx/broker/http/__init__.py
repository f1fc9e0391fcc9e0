"""The HTTP listener of a broker, and what it serves."""
