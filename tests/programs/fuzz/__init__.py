"""Random programs that dispatchkit and PyTorch run side by side.

``python -m tests.programs.fuzz --programs 1000 --seed 7`` runs some.
"""
