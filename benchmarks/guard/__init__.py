"""``make bench-guard``: whether the tree is slower than another commit, in one run on one machine."""
