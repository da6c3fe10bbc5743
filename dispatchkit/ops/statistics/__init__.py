"""Moments, averages, quantiles."""
