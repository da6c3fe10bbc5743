"""Twelve small types, and 120 of their variations with one fault each: an edit of one rule or method."""
