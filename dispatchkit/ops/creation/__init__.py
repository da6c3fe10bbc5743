"""Creation, conversion, dtypes."""
