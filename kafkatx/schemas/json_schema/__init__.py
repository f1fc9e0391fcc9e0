"""JSON Schema: checked, its references resolved, and compared. Pure, and without a library."""
