"""Authorizers: they decide what principals may do (``kafkatx.interfaces.IAuthorizer``)."""
