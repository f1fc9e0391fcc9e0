"""Schemas of messages: their types, their languages, and which of them can read each other's data. Pure."""
