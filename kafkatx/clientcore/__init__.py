"""The pure core of all clients: settings, errors, metadata, requests and replies.

It imports neither Twisted nor sockets nor threads, so that both the Twisted and the blocking client use it.
"""
