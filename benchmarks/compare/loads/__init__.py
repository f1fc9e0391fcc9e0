"""Programs that load a system, pinned to a core."""
