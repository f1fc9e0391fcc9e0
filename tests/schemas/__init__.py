"""Tests of kafkatx.schemas, the languages of schemas."""
