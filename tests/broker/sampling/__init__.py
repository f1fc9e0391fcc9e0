"""Tests of the timer that samples a broker."""
