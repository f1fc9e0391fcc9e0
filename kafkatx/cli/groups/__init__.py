"""``kafkatx groups``."""
