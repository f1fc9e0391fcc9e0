"""Mirrors beside MirrorMaker 2: how fast they copy a topic of Apache Kafka, and what that costs."""
