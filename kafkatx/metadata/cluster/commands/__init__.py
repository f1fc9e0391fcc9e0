"""Changes of the cluster that any broker makes: topics, configs, quotas, producer ids, placements of logs."""
