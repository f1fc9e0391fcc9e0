"""The part of the settings table about the security of connections."""
