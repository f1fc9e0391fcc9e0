"""The logs of this broker's partitions: their log dirs, settings, opening, and log lines of deletions."""
