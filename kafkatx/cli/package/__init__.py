"""Commands that print what came with the package: sample files and the pages of the documentation."""
