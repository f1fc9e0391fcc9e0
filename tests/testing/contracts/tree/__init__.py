"""Tests of ``kafkatx.testing.contracts.tree``: the contract notices bad trees."""
