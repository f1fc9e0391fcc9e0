"""stdout and stderr of the commands: lines, tables, progress bars, messages."""
