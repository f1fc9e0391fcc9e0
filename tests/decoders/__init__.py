"""Tests of kafkatx.decoders."""
