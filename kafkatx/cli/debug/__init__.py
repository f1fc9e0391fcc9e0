"""``kafkatx debug``: an archive of what explains a fault, without secrets and records."""
