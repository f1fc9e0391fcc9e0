"""Subscriptions of members: topic names, and regular expressions that are matched in linear time."""
