"""The configs of subscriptions to metrics of clients."""
