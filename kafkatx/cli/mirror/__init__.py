"""``kafkatx mirror``: copies of other clusters."""
