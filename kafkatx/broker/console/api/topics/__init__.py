"""The routes about topics."""
