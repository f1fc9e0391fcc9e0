"""The producer for Twisted programs."""
