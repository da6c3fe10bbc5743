"""Searching, sorting and sets."""
