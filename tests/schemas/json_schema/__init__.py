"""Tests of kafkatx.schemas.json_schema."""
