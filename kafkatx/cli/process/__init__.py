"""The process of a command: signals, standard streams, warnings of the client library."""
