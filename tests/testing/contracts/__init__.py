"""Each contract fails for an implementation that breaks it."""
