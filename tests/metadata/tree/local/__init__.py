"""Tests of kafkatx.metadata.tree.local."""
