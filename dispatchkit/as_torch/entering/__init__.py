"""What is entered into the modules of PyTorch's spelling beside functions of tensors."""
