"""Random calls in PyTorch's spelling, each made of PyTorch and of `dispatchkit.as_torch`.

``python -m tests.programs.fuzz.as_torch --seconds 60 --seed 7`` makes some.
"""
