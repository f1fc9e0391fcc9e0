"""Consumer groups: membership, assignors, committed offsets."""
