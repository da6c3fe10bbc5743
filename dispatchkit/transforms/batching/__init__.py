"""How operations act on batches."""
