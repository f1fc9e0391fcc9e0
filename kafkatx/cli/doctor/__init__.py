"""``kafkatx doctor``: what an operator would check first, each with its remedy."""
