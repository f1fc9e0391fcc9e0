"""Client quotas (KIP-13, KIP-124, KIP-546, KIP-599): what clients use, and when they must wait."""
