"""The routes of the console's API, a module for each group of them."""
