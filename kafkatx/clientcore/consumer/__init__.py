"""The sans-I/O core of the consumer: fetch requests and responses, and the state of assigned partitions."""
