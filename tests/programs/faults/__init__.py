"""Errors at any line of the library's own code: afterwards everything is as it was, or wholly changed."""
