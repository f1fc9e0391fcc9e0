"""Stored batches to Arrow columns, without an object per record."""
