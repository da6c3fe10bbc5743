"""Who answers where types meet."""
