"""What the Twisted client and the blocking client share: no Twisted, no sockets, no threads."""
