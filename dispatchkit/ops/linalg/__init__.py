"""The `linalg` extension."""
