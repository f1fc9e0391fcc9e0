"""The pure core of admin clients: their requests, and the values read from replies."""
