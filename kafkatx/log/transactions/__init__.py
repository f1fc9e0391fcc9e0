"""The transactions in one log: those that have ended, the aborted ones, and their indexes."""
