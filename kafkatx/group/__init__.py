"""Consumer groups as state machines without I/O: requests and time in, responses and records out."""
