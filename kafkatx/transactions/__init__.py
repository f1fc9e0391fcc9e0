"""The state machine of transactions, without I/O: the pure part of the transaction coordinator."""
