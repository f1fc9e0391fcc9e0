"""Avro schemas: parsed, written in one form, and compared. Pure, and without a library."""
