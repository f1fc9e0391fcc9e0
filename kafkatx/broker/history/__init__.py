"""Samples of a broker over the last week, for charts: bounded in memory, and kept in a small file."""
