"""Reductions to fewer elements, cumulative ones, softmax."""
