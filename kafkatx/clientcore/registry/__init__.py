"""The client's side of a schema registry, pure: requests, replies, settings, subjects, schema cache."""
