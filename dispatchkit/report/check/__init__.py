"""The array types and rules of a package, checked in one go."""
