"""Protobuf messages of schemas: their classes, and their values. Pure."""
