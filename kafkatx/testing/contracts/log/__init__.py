"""The contract of a log with transactions."""
