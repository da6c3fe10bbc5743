"""Who answers a call: resolution, registry, fallbacks, modes. Knows nothing of NumPy or of what it dispatches."""
