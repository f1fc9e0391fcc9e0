"""Tests of kafkatx.spark.streams without Spark."""
