"""Tests of kafkatx.spark.ingest.decoder."""
