"""The way of a cluster of one broker into a tree that several brokers share.

``content`` says which nodes its state makes, ``importer`` writes them into an empty tree.
"""
