"""One segment of a log: its ``.log`` file, its two indexes, and the search in them."""
