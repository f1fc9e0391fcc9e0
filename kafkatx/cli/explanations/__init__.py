"""``kafkatx explain-lag`` and ``kafkatx explain-client``: sentences about why something is slow."""
