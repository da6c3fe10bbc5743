"""Random programs that dispatchkit and PyTorch run side by side: ``python -m tests.fuzz --programs 1000 --seed 7``."""
