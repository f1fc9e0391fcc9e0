"""Tests of ``kafkatx.group.consumer.assignment``."""
