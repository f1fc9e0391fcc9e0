"""Tests of ``kafkatx.networkclient``."""
