"""Tests of kafkatx.demo.pipeline.servers."""
