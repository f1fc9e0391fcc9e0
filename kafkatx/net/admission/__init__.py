"""The connections that a server admits: their number and their rate, by listener and address."""
