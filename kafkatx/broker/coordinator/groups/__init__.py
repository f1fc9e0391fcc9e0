"""The group coordinator: groups, their committed offsets, and the work that requests make for them."""
