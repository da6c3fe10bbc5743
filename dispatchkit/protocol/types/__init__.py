"""What a protocol knows of types: which take part, what each declares, and how one is converted to another."""
