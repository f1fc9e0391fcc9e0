"""Tests of kafkatx.schemas.messages, the data of schemas."""
