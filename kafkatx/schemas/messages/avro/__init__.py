"""Avro messages: schemas for fastavro, and values. Pure."""
