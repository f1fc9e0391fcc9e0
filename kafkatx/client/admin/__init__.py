"""Administration of a cluster, for Twisted programs."""
