"""The image of the cluster that one broker has: how it is read, kept up to date and shown to listeners."""
