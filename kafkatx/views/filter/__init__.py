"""The language of filters: expressions that read like Python, and can neither loop nor explode. Pure.

:mod:`~kafkatx.views.filter.syntax` says what is allowed, :mod:`~kafkatx.views.filter.compiler` makes
functions.
"""
