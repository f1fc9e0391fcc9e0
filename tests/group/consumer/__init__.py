"""Tests of the group machine of KIP-848."""
