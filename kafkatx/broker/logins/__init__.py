"""Logins of clients at listeners with SASL, over ``twisted.cred``; imported only where there is SASL."""
