"""Tests of ``kafkatx.spark.ingest.table``."""
