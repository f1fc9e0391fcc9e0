"""Kafka Streams with ``exactly_once_v2`` on kafkatx: ``make streams``."""
