"""Tests of kafkatx.schemas.protobuf."""
