"""Subscriptions of members: topic names, and regular expressions matched in linear time."""
