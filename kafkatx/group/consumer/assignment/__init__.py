"""Sets of partitions, and the server-side assignors of KIP-848."""
