"""``kafkatx topics``, ``configs`` and what else is asked of the cluster."""
