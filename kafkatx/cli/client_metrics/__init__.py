"""``kafkatx client-metrics``: which metrics clients push, and what they have pushed."""
