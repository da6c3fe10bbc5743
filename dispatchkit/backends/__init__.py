"""The arrays underneath: NumPy's and those of other libraries."""
