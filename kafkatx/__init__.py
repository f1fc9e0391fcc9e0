"""kafkatx: a Kafka that you ``pip install``."""

__version__ = "0.3.0"
