"""The pure core of the audit: counts of produced and consumed records, and their announcements."""
