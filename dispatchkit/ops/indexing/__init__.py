"""Indexing, assignment and selection."""
