"""``kafkatx log``: log files without a broker."""
