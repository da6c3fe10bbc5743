"""Data sets, and loaders that make batches of them."""

from dispatchkit.data.collate import default_collate, default_convert
from dispatchkit.data.dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    blocks,
    random_split,
    to_tensor,
)
from dispatchkit.data.loader import DataLoader
from dispatchkit.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from dispatchkit.declare.namespace import make_home

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "blocks",
    "default_collate",
    "default_convert",
    "random_split",
    "to_tensor",
]

make_home(__name__)
