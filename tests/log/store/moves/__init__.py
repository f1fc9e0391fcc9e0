"""Tests of ``kafkatx.log.store.moves``."""
