"""What PyTorch has of matrices as a whole: sparse ones, and optimisers that look at all of one."""
