"""Arrays of other libraries: read into nestings of the shipped types, and made of them, nothing lost in silence."""
