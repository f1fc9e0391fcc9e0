"""Tests of kafkatx.schemas.messages.avro."""
