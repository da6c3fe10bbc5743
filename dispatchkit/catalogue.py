"""Every chapter of operations, for what lists them all: each loads when it is first used, or with this module."""

from dispatchkit import fft, linalg, ops, random, special
from dispatchkit.nn import functional

CHAPTERS = (ops, linalg, random, fft, special, functional)
