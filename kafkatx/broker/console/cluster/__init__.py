"""Figures of the whole cluster, as the console shows them: found out in turns, and kept for a moment."""
