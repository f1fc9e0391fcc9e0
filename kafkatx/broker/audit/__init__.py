"""The broker's tier of the audit: leaders count what is committed, and announce the counts."""
