"""The tasks of an ingestion: what each executor reads, decodes and writes."""
