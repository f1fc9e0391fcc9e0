"""Decisions by access control lists, with Apache Kafka's semantics (``StandardAuthorizerData``). Pure."""
