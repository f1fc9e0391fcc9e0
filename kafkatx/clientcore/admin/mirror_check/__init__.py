"""The comparison of a mirror with its source. Pure."""
