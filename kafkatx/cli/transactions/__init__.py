"""``kafkatx transactions``."""
