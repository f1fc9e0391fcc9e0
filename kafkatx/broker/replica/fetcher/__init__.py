"""The follower's side of replication: partitions that other brokers lead are fetched and appended here."""
