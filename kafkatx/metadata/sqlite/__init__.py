"""State in one SQLite file: sealed by a checksum, locked while it is open, synced after each change."""
