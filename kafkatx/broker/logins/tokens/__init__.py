"""Logins by OAUTHBEARER: JSON Web Tokens, checked with their issuer's keys. Needs the extra ``oauth``."""
