"""Data sets, and loaders that make batches of them."""

from dispatchkit.data.collate import default_collate as default_collate
from dispatchkit.data.collate import default_convert as default_convert
from dispatchkit.data.dataset import *  # noqa: F403
from dispatchkit.data.loader import DataLoader as DataLoader
from dispatchkit.data.sampler import BatchSampler as BatchSampler
from dispatchkit.data.sampler import RandomSampler as RandomSampler
from dispatchkit.data.sampler import Sampler as Sampler
from dispatchkit.data.sampler import SequentialSampler as SequentialSampler
from dispatchkit.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from dispatchkit.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from dispatchkit.declare.namespace import make_home, starred_names

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)
