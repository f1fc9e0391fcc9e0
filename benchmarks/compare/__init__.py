"""The seeds' experiments, and ours, on several systems in one run. ``docs/performance.md`` tells the rest."""
