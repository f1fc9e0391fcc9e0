"""The cluster's metadata, shared by its brokers. So far the tree that it will be stored in."""
