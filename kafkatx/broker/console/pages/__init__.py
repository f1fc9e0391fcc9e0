"""The files of the console's pages, and the headers that bind browsers."""
