"""The audit: compare announced records with those in a topic, or in the table of an ingestion."""
