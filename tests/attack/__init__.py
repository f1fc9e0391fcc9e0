"""Attacks on a broker: what one client can do to the others.

Each module attacks one door. ``make test`` runs the short form of every attack, ``make attack`` the full one:
there, another client's requests must be answered within a second, and the broker's memory must grow by less
than 300 MiB.
"""
