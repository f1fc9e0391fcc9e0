"""Tests of ``kafkatx.spark.source``."""
