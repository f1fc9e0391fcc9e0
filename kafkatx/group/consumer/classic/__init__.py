"""Members of the classic protocol in a group of KIP-848, and conversions between the two protocols."""
