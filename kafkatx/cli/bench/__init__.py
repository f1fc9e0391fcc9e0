"""``kafkatx bench``."""
