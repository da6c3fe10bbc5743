"""Coverage of a type, planned and measured."""
