"""The routes about access control lists, users and quotas."""
