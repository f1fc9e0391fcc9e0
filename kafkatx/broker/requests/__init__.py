"""Parts of request handling: contexts, staged answers, bounds on replies, conversion for old clients."""
