"""The producer: batches, their accumulation in memory, produce requests and their answers."""
