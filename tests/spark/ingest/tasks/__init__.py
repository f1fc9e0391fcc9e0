"""Tests of ``kafkatx.spark.ingest.tasks``."""
