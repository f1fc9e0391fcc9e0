"""What commands print: tables, lines, JSON, records."""
