"""One partition's log in files: appending, reading, syncing, and what it knows of epochs and producers."""
