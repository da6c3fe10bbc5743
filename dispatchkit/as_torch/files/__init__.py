"""Files: the library's own under any name, and those of PyTorch."""
