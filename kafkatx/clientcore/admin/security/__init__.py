"""Administration of users."""
