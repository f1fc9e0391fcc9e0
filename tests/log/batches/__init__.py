"""Tests of ``kafkatx.log.batches``."""
