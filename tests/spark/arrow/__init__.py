"""Tests of ``kafkatx.spark.arrow``."""
