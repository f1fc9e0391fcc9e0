"""Tests of kafkatx.schemas.messages.protobuf."""
