"""Members of the classic protocol in a consumer group, and conversions between the two protocols."""
