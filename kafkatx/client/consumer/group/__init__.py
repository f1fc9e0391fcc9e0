"""A consumer's membership in a group: joining, assignment, commits."""
