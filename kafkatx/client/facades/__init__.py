"""What the asyncio and blocking clients share: calls handed to the Twisted client."""
