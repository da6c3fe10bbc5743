"""How results are compared: for equality, as types declare, and in their memory; and what is shown of a difference."""
