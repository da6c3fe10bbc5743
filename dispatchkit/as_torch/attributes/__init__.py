"""What tensors of PyTorch have as attributes: dtypes, devices and shapes."""
