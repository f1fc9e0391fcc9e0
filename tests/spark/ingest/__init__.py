"""Tests of kafkatx.spark.ingest."""
