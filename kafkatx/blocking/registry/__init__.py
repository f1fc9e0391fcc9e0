"""The client of a schema registry over plain sockets, for Spark and short commands."""

from kafkatx.blocking.registry.client import BlockingRegistry

__all__ = ["BlockingRegistry"]
