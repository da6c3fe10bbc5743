"""Bridges to libraries that ask for more than the array API standard; each is a module to import."""
