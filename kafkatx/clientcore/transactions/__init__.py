"""The administration of transactions (KIP-664): requests, and values from replies. Pure."""
