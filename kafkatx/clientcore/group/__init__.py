"""Consumer groups, seen from a member: membership, assignors, committed offsets. Pure: no I/O."""
