"""kafkatx: a Kafka that you ``pip install``."""

__version__ = "0.2.0"
