"""A dashboard of Grafana, and alerts of Prometheus. Both are generated."""
