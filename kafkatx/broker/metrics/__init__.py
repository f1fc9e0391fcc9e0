"""The metrics of a broker, in the formats of Prometheus and OpenMetrics."""
