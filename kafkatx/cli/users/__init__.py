"""``kafkatx users``: SCRAM credentials of users, and files of users."""
