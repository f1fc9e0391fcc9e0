"""The pure core of a mirror: no I/O and no clock."""
