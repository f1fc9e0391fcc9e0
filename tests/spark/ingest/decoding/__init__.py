"""Tests of kafkatx.spark.ingest.decoding."""
