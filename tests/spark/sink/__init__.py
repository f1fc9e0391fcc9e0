"""Tests of kafkatx.spark.sink."""
