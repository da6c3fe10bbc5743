"""What several chapters of the catalogue use: axes, arguments, arrays."""
