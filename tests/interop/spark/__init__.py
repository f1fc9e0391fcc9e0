"""Spark's own Kafka source beside ours; needs Java and Maven."""
