"""The copiers that are written in Python, a program each."""
