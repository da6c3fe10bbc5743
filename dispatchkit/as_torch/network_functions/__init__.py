"""What `torch.nn.functional` has of grids, sequences and attention, and what PyTorch's layers call."""
