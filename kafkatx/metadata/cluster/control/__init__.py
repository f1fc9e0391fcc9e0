"""The role of the controller: its election, and what it writes."""
