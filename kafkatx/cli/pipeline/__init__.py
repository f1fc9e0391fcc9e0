"""``kafkatx ingest`` and ``kafkatx audit``."""
