"""The consumer for Twisted programs: fetching, positions, delivery of records; groups are in ``group``."""
