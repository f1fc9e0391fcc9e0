"""Samples of a broker over the last week, for charts: bounded in memory. Pure."""
