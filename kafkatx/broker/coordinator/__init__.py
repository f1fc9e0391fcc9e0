"""Coordinators: they keep their state in internal topics, whose partitions and leaders they follow."""
