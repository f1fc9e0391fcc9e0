"""The settings, one row each: name, type, default, range, unit, documentation."""
