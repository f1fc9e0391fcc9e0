"""Tests of kafkatx.spark.sink.schemas."""
