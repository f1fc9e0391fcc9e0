"""The consumer's membership in its group: joining, rebalances, commits."""
