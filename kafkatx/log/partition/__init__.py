"""One partition's log in files: ``FileLog`` and its parts."""
