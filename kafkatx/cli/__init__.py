"""The command ``kafkatx``: topics, produce, consume. What is slow to import is imported when it is used."""
