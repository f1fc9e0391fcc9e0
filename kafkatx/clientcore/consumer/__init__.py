"""The consumer: fetch requests and replies, and the state of each partition that is read."""
