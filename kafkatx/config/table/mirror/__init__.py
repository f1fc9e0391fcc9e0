"""The settings of links: a family of names, ``mirror.NAME.topics`` for example."""
