"""The metrics that clients push (KIP-714): who is asked for them, what they send, and their recent values."""
