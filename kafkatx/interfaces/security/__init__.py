"""Interfaces of what decides who gets in and who may do what."""
