"""Exact mirrors under fire: both ends are killed while millions of records are copied, then all is compared."""
