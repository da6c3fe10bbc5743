"""Records of the calls that a program makes."""
