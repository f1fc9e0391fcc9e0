"""Tests of ``kafkatx.interfaces``: what comes with kafkatx provides them."""
