"""The events of the simulated cluster, by chance and as directed scenarios."""
