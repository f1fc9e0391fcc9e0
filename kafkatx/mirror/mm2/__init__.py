"""The formats of MirrorMaker 2's internal topics, for its tools and ``RemoteClusterUtils``. Pure."""
