"""Connections to the brokers of a cluster, and the metadata that says where to connect."""
