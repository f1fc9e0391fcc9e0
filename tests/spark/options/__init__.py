"""Tests of ``kafkatx.spark.options``."""
