"""What type checkers and editors see of the library, without any plugin."""
