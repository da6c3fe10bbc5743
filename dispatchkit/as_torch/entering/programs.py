"""What programs need beside functions: files, mixed precision, distributions, entered into the modules of PyTorch."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

import numpy as np

from dispatchkit import optim, random
from dispatchkit.as_torch import distributions, stacked, utilities
from dispatchkit.as_torch.attributes import dtypes
from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.as_torch.distributions import tools
from dispatchkit.as_torch.distributions.multivariate import lower_of_precision
from dispatchkit.as_torch.entering.at_the_top import changing_functions, functions_at_the_top, method_functions
from dispatchkit.as_torch.entering.builtin_functions import OF_NETWORKS, OF_THE_TOP, OF_UNIQUE
from dispatchkit.as_torch.entering.entered import extend_module, of_module
from dispatchkit.as_torch.entering.homes import enter_homes
from dispatchkit.as_torch.files import serialization
from dispatchkit.as_torch.layers import (
    fused,
    lazy,
    packed_sequences,
    parameter_containers,
    parametrizations,
    pruning,
    reparametrized,
)
from dispatchkit.as_torch.layers import of_functions as layers
from dispatchkit.as_torch.layers import options as further_options
from dispatchkit.as_torch.layers.adaptive import AdaptiveLogSoftmaxWithLoss
from dispatchkit.as_torch.layers.constructors import constructed_as_in_pytorch
from dispatchkit.as_torch.layers.families import in_families
from dispatchkit.as_torch.layers.hooked import OF_ALL_MODULES, give_hooks
from dispatchkit.as_torch.layers.linear_losses import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from dispatchkit.as_torch.layers.member_tables import give_tables
from dispatchkit.as_torch.layers.module_methods import give_module_methods
from dispatchkit.as_torch.layers.weighted import Bilinear, DataParallel, EmbeddingBag, Softmax2d, Unflatten
from dispatchkit.as_torch.machine import (
    amp,
    anomalies,
    dual_levels,
    engine,
    gradchecks,
    limits,
    modes,
    processes,
    samples,
)
from dispatchkit.as_torch.machine import settings as machine
from dispatchkit.as_torch.machine.functions import AnyVertex, BackwardCFunction, InplaceFunction, give_old_forms
from dispatchkit.as_torch.machine.lists import OF_FOREACH_UTILS, functions_of_lists
from dispatchkit.as_torch.machine.parts import parts
from dispatchkit.as_torch.machine.saved import SavedTensor, give_saved_values
from dispatchkit.as_torch.machine.vertices import get_gradient_edge, give_vertices
from dispatchkit.as_torch.machine.views import give_refusals
from dispatchkit.as_torch.matrices import coordinates
from dispatchkit.as_torch.matrices.eigenpairs import lobpcg
from dispatchkit.as_torch.matrices.optimizers import Adafactor, Muon, SparseAdam
from dispatchkit.as_torch.matrices.options import WithoutKernels
from dispatchkit.as_torch.methods import storages
from dispatchkit.as_torch.methods.further_methods import give_further_methods
from dispatchkit.as_torch.methods.reshaped import give_shapes_in_place
from dispatchkit.as_torch.methods.torch_functions import give_torch_function
from dispatchkit.as_torch.network_functions import norms
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, PARAMETER, Module, Tensor, enter_module, spelling_results
from dispatchkit.nn import utils
from dispatchkit.optim import hooks

# The names of distributions, and PyTorch's modules of one distribution each.
NAMED = frozenset(name for name, value in vars(distributions).items() if isinstance(value, type))
NAMED |= {"constraints", "transforms", "identity_transform", "kl_divergence", "register_kl"}
NAMED |= {"biject_to", "transform_to"}
ELSEWHERE = (
    *("FisherSnedecor", "LowRankMultivariateNormal", "OneHotCategorical", "RelaxedOneHotCategorical", "StudentT"),
    *("OneHotCategoricalStraightThrough", "LKJCholesky", "ExponentialFamily"),
)
OF_DISTRIBUTIONS = {
    "exp_family": ("ExponentialFamily",),
    "kl": ("kl_divergence", "register_kl"),
    "studentT": ("StudentT",),
    "lkj_cholesky": ("LKJCholesky",),
    "constraint_registry": ("biject_to", "transform_to"),
    "relaxed_categorical": ("RelaxedOneHotCategorical",),
    "fishersnedecor": ("FisherSnedecor",),
    "lowrank_multivariate_normal": ("LowRankMultivariateNormal",),
    "one_hot_categorical": ("OneHotCategorical", "OneHotCategoricalStraightThrough"),
    **{
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): (name,)
        for name in NAMED
        if name[0].isupper() and not name.endswith("Transform") and name not in ELSEWHERE
    },
}

# What PyTorch writes in Python of the functions at its top: they are in `torch.functional`, too.
OF_FUNCTIONAL = (
    *(
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_shapes",
        "broadcast_tensors",
        "cartesian_prod",
    ),
    *("cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft"),
    *("svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index"),
)
FURTHER_TRANSFORMS = ("CatTransform", "CorrCholeskyTransform", "ReshapeTransform", "StackTransform")
WEIGHTED = (
    *(AdaptiveLogSoftmaxWithLoss, Bilinear, DataParallel, EmbeddingBag, LinearCrossEntropyLoss),
    *(Softmax2d, Unflatten),
)
OF_SEQUENCES = (
    *("PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"),
    *("unpack_sequence", "unpad_sequence"),
)


def derived(name: str, home: str, *bases: Any) -> Any:
    """Return a class of a name that has all of its bases."""
    told = next(base.__doc__ for base in reversed(bases) if base is not Module or len(bases) == 1)
    return type(name, bases, {"__module__": f"{HOME}.{home}", "__doc__": told})


def enter_programs() -> None:
    """Enter all of it."""
    give_further_methods()
    give_torch_function()
    give_hooks()
    give_module_methods()
    give_tables()
    give_shapes_in_place()
    give_saved_values()
    give_vertices()
    give_refusals()
    give_old_forms()
    coordinates.give_sparse_methods()
    enter_module("sparse", coordinates.OF_SPARSE)
    extend_module("", {"TypedStorage": storages.TypedStorage, "UntypedStorage": storages.UntypedStorage})
    extend_module("", {"sparse_coo_tensor": coordinates.sparse_coo_tensor, "sparse_coo": "sparse_coo"})
    _enter_distributions()
    of_threads = ("is_multithreading_enabled", "set_multithreading_enabled")
    of_autograd = {name: getattr(modes, name) for name in ("inference_mode", *of_threads)}
    extend_module("autograd", {**of_autograd, "SavedTensor": SavedTensor, "torch": sys.modules[HOME]})
    of_functions = {"InplaceFunction": InplaceFunction, "BackwardCFunction": BackwardCFunction}
    extend_module("autograd.function", of_functions)
    extend_module("autograd", {**anomalies.OF_ANOMALIES, "gradcheck": gradchecks.gradcheck})
    extend_module("autograd.anomaly_mode", anomalies.OF_ANOMALIES)
    extend_module("autograd.forward_ad", dual_levels.OF_FORWARD_MODE)
    deprecated = ("gradcheck", "get_analytical_jacobian", "get_numerical_jacobian")
    extend_module("autograd.gradcheck", {name: getattr(gradchecks, name) for name in deprecated})
    extend_module("autograd.graph", {"get_gradient_edge": get_gradient_edge, "Node": AnyVertex})
    precision = {name: getattr(amp, name) for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd")}
    enter_module("amp", {**precision, "is_autocast_available": amp.is_autocast_available})
    enter_module("amp.autocast_mode", {**precision, "is_autocast_available": amp.is_autocast_available})
    extend_module("", amp.OF_PRECISION)
    enter_module("cuda.amp", {**precision, "autocast": amp.autocast_of, "GradScaler": amp.scaler_of})
    _enter_layers()
    _enter_functions(precision)
    _enter_machine()
    for place, held in [*processes.modules().items(), *parts().items()]:
        extend_module(place, {name: value for name, value in held.items() if name[0] != "_"})
        vars(sys.modules[f"{HOME}.{place}".rstrip(".")]).update(held)
    extend_module("", method_functions(vars(sys.modules[HOME])))
    at_the_top = vars(sys.modules[HOME])
    enter_module("functional", {name: at_the_top[name] for name in OF_FUNCTIONAL})
    # Names that are not public, and that programs ask for all the same.
    of_the_top = {"torch": sys.modules[HOME], "_assert_async": processes.assert_async, **OF_UNIQUE}
    private = {
        "": {**of_the_top, **functions_of_lists()},
        ".autograd.forward_ad": {
            "_is_fwd_grad_enabled": dual_levels.is_fwd_grad_enabled,
            "_set_fwd_grad_enabled": dual_levels.set_fwd_grad_enabled,
        },
        ".autograd.functional": {"_construct_standard_basis_for": gradchecks.standard_bases},
        ".functional": {"F": sys.modules[f"{HOME}.nn.functional"], "Tensor": Tensor, "torch": sys.modules[HOME]},
        ".jit": {"_fork": engine.fork, "_wait": engine.wait},
        ".hub": {"HASH_REGEX": re.compile(r"-([a-f0-9]*)\.")},
        ".distributions.utils": {"_standard_normal": tools.standard_normal, "_sum_rightmost": tools.sum_rightmost},
        ".distributions.multivariate_normal": {"_precision_to_scale_tril": lower_of_precision},
        ".utils._foreach_utils": OF_FOREACH_UTILS,
        "._C": {
            **dict.fromkeys(("_get_tracing_state", "_log_api_usage_once"), machine.nothing),
            "_current_graph_task_id": engine.current_graph_task_id,
            "_is_fwd_grad_enabled": dual_levels.is_fwd_grad_enabled,
            "_set_fwd_grad_enabled": dual_levels.set_fwd_grad_enabled,
        },
    }
    for path in ("utils._foreach_utils", "_C"):
        enter_module(path, {})
    for path, names in private.items():
        vars(sys.modules[f"{HOME}{path}"]).update(names)
    enter_homes()
    hide_own_modules()


def _enter_distributions() -> None:
    """Enter distributions, and the modules of one each."""
    names = ("broadcast_all", "lazy_property", "logits_to_probs", "probs_to_logits")
    imported = {name: tools.OF_UTILS[name] for name in names}
    imported |= {name: getattr(distributions, name) for name in ("Distribution", "constraints")}
    imported |= {"Tensor": Tensor, "torch": sys.modules[HOME]}
    named = {name: value for name, value in vars(distributions).items() if name in NAMED}
    enter_module("distributions", named)
    for name, members in OF_DISTRIBUTIONS.items():
        enter_module(f"distributions.{name}", {each: getattr(distributions, each) for each in members})
        # PyTorch's modules import these, and programs import them from there.
        held = vars(sys.modules[f"{HOME}.distributions.{name}"])
        held.update({each: value for each, value in imported.items() if each not in held})
    enter_module("distributions.utils", tools.OF_UTILS)
    # Which a module that is written for each has not.
    vars(distributions.transforms).update({name: getattr(distributions, name) for name in FURTHER_TRANSFORMS})
    of_transforms = {name for name in vars(distributions.transforms) if name.endswith(("Transform", "_transform"))}
    vars(distributions.transforms)["__all__"] = sorted(of_transforms)


def _annotate(the_type: Any, the_value: Any) -> Any:
    """Return a value, of which a type is said."""
    return the_value


def hide_own_modules() -> None:
    """Take the modules that this package is made of out of the names of PyTorch; they can be imported all the same."""
    package = sys.modules[HOME]
    for home, module in list(sys.modules.items()):
        outer, _, name = home.rpartition(".")
        is_own = outer == HOME and getattr(module, "__file__", None) is not None
        if is_own and name != "distributions" and vars(package).get(name) is module:
            delattr(package, name)


def _enter_layers() -> None:
    """Enter layers, sequences of several lengths, and optimisers."""
    held = of_module("nn")
    recurrent = {name: derived(name, "nn", packed_sequences.TakesPacked, held[name]) for name in ("GRU", "RNN")}
    recurrent["LSTM"] = derived("LSTM", "nn", packed_sequences.Projected, held["LSTM"])
    recurrent |= {name: derived(name, "nn", value, held[name]) for name, value in norms.LAYERS.items()}
    with_options = {
        "Embedding": further_options.Lookup,
        "MultiheadAttention": further_options.Attending,
        "ParameterDict": parameter_containers.ParametersByName,
        "ParameterList": parameter_containers.ParametersByNumber,
    }
    recurrent |= {name: derived(name, "nn", value, Module) for name, value in with_options.items()}
    weighted = {each.__name__: each for each in WEIGHTED}
    PARAMETER.__name__ = PARAMETER.__qualname__ = "Parameter"
    later = {name: getattr(lazy, name) for name in ("UninitializedBuffer", "UninitializedParameter", "is_lazy")}
    extend_module("nn.parameter", {**later, "Buffer": stacked.Buffer})
    made = {**recurrent, **weighted, **layers.LAYERS, "Buffer": stacked.Buffer}
    made |= constructed_as_in_pytorch({**held, **made, "SyncBatchNorm": held["BatchNorm2d"]}, f"{HOME}.nn")
    made |= in_families({**held, **made})
    layers_of_all = {**made, **lazy.lazy_layers({**held, **made}), **later}
    extend_module("nn", {**layers_of_all, "NLLLoss2d": layers_of_all["NLLLoss"]})
    extend_module("nn", {"LinearCrossEntropyOptions": LinearCrossEntropyOptions})
    for path in ("nn.modules", "nn.modules.module"):
        extend_module(path, layers_of_all)
    extend_module("nn.modules.module", OF_ALL_MODULES)
    extend_module("nn.parallel", {"DataParallel": DataParallel})
    by_hooks = ("weight_norm", "remove_weight_norm", "spectral_norm", "remove_spectral_norm")
    of_fusion = {name: getattr(fused, name) for name in fused.__all__}
    extend_module("nn.utils", {name: getattr(reparametrized, name) for name in by_hooks} | of_fusion)
    enter_module("nn.utils.fusion", {name: value for name, value in of_fusion.items() if name != "skip_init"})
    places = (
        *("cached", "is_parametrized", "register_parametrization", "remove_parametrizations"),
        *("type_before_parametrizations", "ParametrizationList"),
    )
    enter_module("nn.utils.parametrize", {name: getattr(parametrizations, name) for name in places})
    kinds = ("orthogonal", "spectral_norm", "weight_norm")
    enter_module("nn.utils.parametrizations", {name: getattr(parametrizations, name) for name in kinds})
    enter_module("nn.utils.prune", {name: getattr(pruning, name) for name in pruning.__all__})
    enter_module("nn.utils.rnn", {name: getattr(packed_sequences, name) for name in OF_SEQUENCES})
    classes = {
        name: derived(name, "optim", WithoutKernels, value)
        for name, value in of_module("optim").items()
        if isinstance(value, type) and issubclass(value, optim.Optimizer) and value is not optim.Optimizer
    }
    extend_module("optim.optimizer", {name: getattr(hooks, name) for name in hooks.__all__})
    extend_module("optim", {**classes, "Adafactor": Adafactor, "Muon": Muon, "SparseAdam": SparseAdam})


def _enter_functions(precision: dict[str, Any]) -> None:
    """Enter functions of modules and functions that PyTorch has in several places."""
    for place, functions in utilities.OF_PLACES.items():
        extend_module(place, functions)
    for place, functions in utilities.deprecated_names(of_module("nn.init"), of_module("nn.utils")).items():
        extend_module(place, functions)
    names = ("stack_module_state", "grad_and_value", "jacrev", "replace_all_batch_norm_modules_")
    of_func = {name: getattr(stacked, name) for name in names}
    extend_module("func", {**of_func, "functional_call": spelling_results(utils.functional_call)})
    extend_module("nn.functional", {**changing_functions("nn.functional"), **OF_NETWORKS})
    files = {"save": serialization.save, "load": serialization.load}
    draws = {name: machine.complex_draws(FUNCTIONS[name], False) for name in ("rand", "rand_like")}
    draws |= {name: machine.complex_draws(FUNCTIONS[name], True) for name in ("randn", "randn_like")}
    more = {
        **files,
        **functions_at_the_top(),
        **OF_THE_TOP,
        "lobpcg": lobpcg,
        **draws,
        "vmap": of_module("func")["vmap"],
        "compile": amp.compile_nothing,
    }
    extend_module("", {**more, "autocast": precision["autocast"], "GradScaler": precision["GradScaler"]})


def _enter_machine() -> None:
    """Enter what is said to the machine and asked of it."""
    of_threads = {"get_num_threads": machine.one, "set_num_threads": machine.nothing}
    of_threads |= {"get_num_interop_threads": machine.one, "set_num_interop_threads": machine.nothing}
    generators = ("initial_seed", "seed", "get_rng_state", "set_rng_state")
    of_random = {name: getattr(machine, name) for name in generators}
    others = ("get_default_device", "get_default_dtype", "set_default_device", "set_default_tensor_type")
    names = {**machine.TYPES, **of_threads, **of_random, **{name: getattr(machine, name) for name in others}}
    silent = ("set_float32_matmul_precision", "use_deterministic_algorithms", "set_flush_denormal")
    names |= dict.fromkeys(silent, machine.nothing)
    asked = ("are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled")
    names |= dict.fromkeys(asked, machine.no)
    names |= {name: getattr(modes, name) for name in ("inference_mode", "is_inference_mode_enabled")}
    names |= {
        "get_float32_matmul_precision": machine.highest,
        "default_generator": random.default_generator,
        "Generator": machine.GeneratorOnDevice,
    }
    names |= {"half": dtypes.dtype("float16"), **dtypes.ABSENT}
    extend_module(
        "",
        {
            **names,
            "promote_types": machine.promote_types,
            "result_type": machine.result_type,
            "can_cast": machine.can_cast,
            "finfo": limits.finfo,
            "iinfo": limits.iinfo,
            "Size": Shape,
            "layout": str,
            "memory_format": str,
            "dtype": dtypes.dtype,
        },
    )
    vars(sys.modules[HOME])["__version__"] = limits.VERSION
    extend_module("random", {**of_random, "fork_rng": machine.fork_rng})
    without = ("synchronize", "set_device", "reset_peak_memory_stats", "ipc_collect")
    of_cuda = {**dict.fromkeys(without, machine.nothing), "current_device": machine.zero}
    of_cuda |= dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved"), machine.zero)
    extend_module("cuda", of_cuda)
    extend_module("backends.cudnn", {"benchmark": False, "deterministic": False, "enabled": False})
    scripts = ("script", "script_method", "ignore", "unused", "export", "script_if_tracing")
    traced = dict.fromkeys(("is_scripting", "is_tracing"), machine.no)
    of_scripts = {**dict.fromkeys(scripts, machine.as_it_is), "ScriptModule": derived("ScriptModule", "jit", Module)}
    of_futures = {"fork": engine.fork, "wait": engine.wait}
    enter_module("jit", {**of_scripts, **traced, **of_futures, "Final": Final, "annotate": _annotate})
    extend_module("", {"ScriptModule": of_scripts["ScriptModule"]})
    extend_module("testing", {name: getattr(samples, name) for name in samples.__all__})
    extend_module("linalg", {"LinAlgError": np.linalg.LinAlgError})
    of_group = {"is_available": machine.no, "is_initialized": machine.no}
    enter_module("distributed", {**of_group, "get_rank": machine.zero, "get_world_size": machine.one})
