"""``kafkatx acls`` and ``kafkatx explain-access``: who may do what."""
