"""The catalogue of operations: a folder or file for each chapter, each operation with its derivative."""

# ruff: noqa: F401  # the chapters are loaded for their effect: they enter their names
import dispatchkit.ops.creation.conversion
import dispatchkit.ops.creation.creation
import dispatchkit.ops.creation.dtypes
import dispatchkit.ops.creation.fields
import dispatchkit.ops.elementwise.arithmetic
import dispatchkit.ops.elementwise.comparison
import dispatchkit.ops.elementwise.exponential
import dispatchkit.ops.elementwise.trigonometry
import dispatchkit.ops.indexing.indexing
import dispatchkit.ops.indexing.selecting
import dispatchkit.ops.info
import dispatchkit.ops.linalg.contraction
import dispatchkit.ops.linalg.products
import dispatchkit.ops.manipulation.joining
import dispatchkit.ops.manipulation.permuting
import dispatchkit.ops.manipulation.shapes
import dispatchkit.ops.manipulation.splitting
import dispatchkit.ops.random.arrays
import dispatchkit.ops.reductions.nan
import dispatchkit.ops.reductions.reductions
import dispatchkit.ops.reductions.softmaxes
import dispatchkit.ops.searching.searching
import dispatchkit.ops.searching.sets
import dispatchkit.ops.signal
import dispatchkit.ops.statistics.moments
import dispatchkit.ops.statistics.quantiles
from dispatchkit.declare.namespace import TensorNamespace, tensor_namespace

# Type checkers read the names in the stub beside this file, which `nox -s generated` writes.
_entered = {name: value for name, value in vars(tensor_namespace).items() if not isinstance(value, TensorNamespace)}
__all__ = [name for name in _entered if not name.startswith("_")]
vars().update((name, _entered[name]) for name in __all__)
