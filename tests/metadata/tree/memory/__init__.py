"""Tests of kafkatx.metadata.tree.memory."""
