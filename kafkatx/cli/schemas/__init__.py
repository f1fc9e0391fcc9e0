"""``kafkatx schemas``: the schemas of a registry."""
