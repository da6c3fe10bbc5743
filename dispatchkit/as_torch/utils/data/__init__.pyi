"""`torch.utils.data` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.utils.data import dataloader as dataloader
from dispatchkit.as_torch.utils.data import dataset as dataset
from dispatchkit.as_torch.utils.data import distributed as distributed
from dispatchkit.as_torch.utils.data import sampler as sampler
from dispatchkit.data import BatchSampler as BatchSampler
from dispatchkit.data import ChainDataset as ChainDataset
from dispatchkit.data import ConcatDataset as ConcatDataset
from dispatchkit.data import Dataset as Dataset
from dispatchkit.data import IterableDataset as IterableDataset
from dispatchkit.data import RandomSampler as RandomSampler
from dispatchkit.data import Sampler as Sampler
from dispatchkit.data import SequentialSampler as SequentialSampler
from dispatchkit.data import StackDataset as StackDataset
from dispatchkit.data import Subset as Subset
from dispatchkit.data import SubsetRandomSampler as SubsetRandomSampler
from dispatchkit.data import TensorDataset as TensorDataset
from dispatchkit.data import WeightedRandomSampler as WeightedRandomSampler
from dispatchkit.data import default_collate as default_collate
from dispatchkit.data import default_convert as default_convert
from dispatchkit.data import random_split as random_split
from typing import Any
import dispatchkit.data

class DataLoader(dispatchkit.data.DataLoader): ...

DistributedSampler: Any

get_worker_info: Any
