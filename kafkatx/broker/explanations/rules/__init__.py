"""The rules: each looks at facts, and yields sentences with their evidence. Pure."""
