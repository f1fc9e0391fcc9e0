"""The table in the target directory: manifests, files, formats, folders."""
