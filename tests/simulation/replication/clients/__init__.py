"""Clients of the simulated cluster, which compare what they are told with the truth."""
