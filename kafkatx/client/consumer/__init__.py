"""The consumer for Twisted programs."""
