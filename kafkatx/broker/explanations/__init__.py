"""Explanations why a group or a client is slow: rules over facts that the broker knows."""
