"""What `array_type` gives a class: the operators, methods and properties of arrays."""

from __future__ import annotations

from collections.abc import Callable

from mypy import nodes
from mypy.nodes import SymbolNode, TypeInfo
from mypy.types import AnyType, TypeOfAny

Find = Callable[[str], SymbolNode | None]

# mypy's name of the class of plain arrays.
TENSOR = "dispatchkit.tensor.tensor.Tensor"
SURFACE = "dispatchkit.tensor.surface"
METHODS = f"{SURFACE}.ArrayMethods"
# What a class that supplies no shape and dtype takes from its dense form.
DERIVED = ("shape", "dtype", "ndim", "size", "device")


def give_surface(info: TypeInfo, find: Find) -> None:
    """Give a class the members of `ArrayMethods` that neither it nor a superclass defines."""
    defined = {name for base in info.mro[:-1] for name in base.names}
    for source, chosen in ((METHODS, None), (TENSOR, DERIVED)):
        members = find(source)
        assert isinstance(members, TypeInfo)
        for name in chosen or members.names:
            node = members.names[name].node
            if isinstance(node, nodes.OverloadedFuncDef) and node.is_property:
                # Of a property that can be set, mypy checks that it is the class's own.
                node = nodes.Var(name, AnyType(TypeOfAny.explicit))
                node.info, node._fullname = info, f"{info.fullname}.{name}"
                node.is_property = node.is_settable_property = True
            if name not in defined:
                info.names[name] = nodes.SymbolTableNode(nodes.MDEF, node, plugin_generated=True)
