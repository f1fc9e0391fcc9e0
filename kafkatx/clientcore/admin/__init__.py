"""Administration: requests made and responses read."""
