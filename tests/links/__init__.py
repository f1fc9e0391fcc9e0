"""Exact mirrors under fire: both ends are killed while records are copied, then everything is compared."""
