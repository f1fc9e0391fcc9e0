"""Tests of kafkatx.schemas.avro."""
