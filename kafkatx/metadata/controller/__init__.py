"""The controller's decisions, as pure functions: replica assignment, and the writes that a cluster needs."""
