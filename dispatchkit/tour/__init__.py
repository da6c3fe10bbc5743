"""The tour: a program to read and to run, ``python -m dispatchkit tour``."""
