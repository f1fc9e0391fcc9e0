"""The process of a broker: its service, signals, log output, and how it goes into the background."""
