"""The methods of PyTorch's tensors that are no functions."""
