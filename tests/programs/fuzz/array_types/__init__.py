"""Random programs over the array types of the library: each step is made once more on dense forms."""
