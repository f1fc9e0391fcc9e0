"""``kafkatx tls``: certificates of brokers and users."""
