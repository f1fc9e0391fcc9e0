"""The HTTP server of a broker: one listener that carries applications, each at paths of its own.

Nothing of Twisted Web is imported before the first connection.
"""
