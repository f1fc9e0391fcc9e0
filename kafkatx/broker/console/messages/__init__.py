"""Messages of topics: searches, live tails, and messages that people type.

What is in messages is looked at by :mod:`kafkatx.views`, in processes that can be killed.
"""
