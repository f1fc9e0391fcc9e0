"""Tests of kafkatx.demo.pipeline."""
