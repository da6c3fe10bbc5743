"""Options of PyTorch's optimisers that choose how they are computed: groups have them, and nothing reads them."""

from __future__ import annotations

from typing import Any

from dispatchkit.optim.changes import Options
from dispatchkit.optim.optimizer import number

__all__ = ["WithoutKernels"]

# Which of them an optimiser has, by its name, in their order in PyTorch.
OPTIONS = {
    **dict.fromkeys(("Adam", "AdamW"), ("foreach", "capturable", "differentiable", "fused")),
    **dict.fromkeys(("Adadelta", "RMSprop"), ("capturable", "foreach", "differentiable")),
    **dict.fromkeys(("Adagrad", "SGD"), ("foreach", "differentiable", "fused")),
    **dict.fromkeys(("ASGD", "Adamax", "Rprop"), ("foreach", "differentiable", "capturable")),
    **dict.fromkeys(("NAdam", "RAdam"), ("foreach", "capturable", "differentiable")),
}


class WithoutKernels:
    """What optimisers of PyTorch take besides, to choose how they are computed."""

    defaults: dict[str, Any]

    def __init__(
        self,
        params: Any,
        *args: Any,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        **options: Any,
    ) -> None:
        self._differentiable = differentiable
        given = {"foreach": foreach, "fused": fused, "capturable": capturable, "differentiable": differentiable}
        self._chosen = {name: given[name] for name in self._options_of_kernels()}
        super().__init__(params, *args, **options)  # type: ignore[call-arg]  # of the optimiser
        if "Adagrad" in {base.__name__ for base in type(self).__mro__}:
            self._begin_at_once()

    def _begin_at_once(self: Any) -> None:
        """Give all parameters their state, which others get in their first step."""
        for each in self.param_groups:
            options = Options(**{**each, **{name: number(each[name]) for name in self._not_negative}})
            for p in each["params"]:
                for name in (*self._counters, *self._buffers):
                    self._begin(p, name, self._start_of(name, options))

    @classmethod
    def _options_of_kernels(cls) -> tuple[str, ...]:
        """Return the names of those that PyTorch's optimiser has."""
        return next((OPTIONS[base.__name__] for base in cls.__mro__ if base.__name__ in OPTIONS), ())

    def add_param_group(self, param_group: Any) -> None:
        """Add a group of parameters, such as layers that are trained from now on.

        Parameters
        ----------
        param_group : dictionary of ``"params"``, as for the constructor, and options; it is not changed
        """
        for name, value in self.__dict__.get("_chosen", {}).items():
            self.defaults.setdefault(name, value)
        super().add_param_group(param_group)  # type: ignore[misc]  # of the optimiser
