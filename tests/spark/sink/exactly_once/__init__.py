"""Tests of kafkatx.spark.sink.exactly_once."""
