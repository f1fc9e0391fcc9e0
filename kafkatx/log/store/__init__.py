"""All logs under ``log.dirs``: the log dirs, opening and closing, moves between them, failures."""
