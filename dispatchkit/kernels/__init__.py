"""Kernels for the library's own operations, by the library whose arrays they compute; each loads with its arrays."""
