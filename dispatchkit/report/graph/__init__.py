"""Drawings of the graph."""
