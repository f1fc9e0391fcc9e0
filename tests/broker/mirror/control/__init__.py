"""Tests of ``kafkatx.broker.mirror.control``."""
