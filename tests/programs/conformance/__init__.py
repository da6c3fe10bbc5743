"""The array API standard's conformance suite over tensors that hold the arrays of another library."""
