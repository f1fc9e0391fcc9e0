"""``kafkatx produce``, ``consume`` and ``tail``."""
