"""The audit: what producers announced against what is in a topic, or in the table that it was loaded into."""
