"""Hooks of modules, and states of modules that have parameters without elements, as programs of PyTorch use them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch.nn.modules import module as of_modules
from dispatchkit.as_torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

SPELLED: Any = torch
nn: Any = SPELLED.nn


def test_backward_hooks_get_gradients_with_pytorchs_methods() -> None:
    sizes: list[Any] = []

    def before(module: Any, grad_output: Any) -> Any:
        sizes.append(grad_output[0].size())
        return (grad_output[0].mul(2.0),)

    def after(module: Any, grad_input: Any, grad_output: Any) -> None:
        sizes.extend([grad_input[0].size(), grad_output[0].view(-1).size(0)])

    layer = nn.Linear(3, 2, bias=False)
    layer.register_full_backward_pre_hook(before)
    layer._backward_hooks[7] = after
    x = SPELLED.ones(4, 3, requires_grad=True)
    layer(x).sum().backward()
    assert sizes == [(4, 2), (4, 3), 8]
    assert SPELLED.allclose(x.grad, 2 * layer.weight.sum(0).expand(4, 3))


def test_hooks_of_all_modules_are_registered_where_pytorch_has_them() -> None:
    seen: list[Any] = []
    hooks: Any = of_modules
    handles = [
        hooks.register_module_forward_pre_hook(lambda module, args: seen.append("before")),
        hooks.register_module_forward_hook(lambda module, args, y: seen.append("after")),
        hooks.register_module_full_backward_pre_hook(lambda module, grads: seen.append(grads[0].size())),
        hooks.register_module_full_backward_hook(lambda module, grads, of_outputs: seen.append(grads[0].size())),
    ]
    nn.Linear(3, 2)(SPELLED.ones(3, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    nn.Linear(3, 2)(SPELLED.ones(3))
    assert seen == ["before", "after", (2,), (3,)]


def test_states_of_lazy_layers_keep_parameters_without_elements() -> None:
    state = nn.LazyLinear(3).state_dict()
    assert all(isinstance(value, nn.UninitializedParameter) for value in state.values())
    layer = nn.LazyLinear(3)
    layer.load_state_dict(state)
    assert layer.has_uninitialized_params()
    assert layer(SPELLED.ones(2)).shape == (3,)
    with pytest.raises(RuntimeError, match=r"^Can't access the shape of an uninitialized parameter or buffer"):
        nn.Linear(3, 3).load_state_dict(state)


def test_buffers_without_elements_are_registered_when_they_are_assigned() -> None:
    module = nn.Module()
    module.saved, module.left = nn.UninitializedBuffer(), nn.UninitializedBuffer(persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["saved", "left"]
    assert [*module.state_dict()] == ["saved"]
    module.saved.materialize((2, 3))
    assert module.saved.shape == (2, 3)


def test_the_weight_norm_of_a_lazy_layer_raises() -> None:
    text = (
        r"^The module passed to `weight_norm` can't have uninitialized parameters\. Make sure to run the dummy forward"
    )
    with pytest.raises(ValueError, match=text):
        nn.utils.weight_norm(nn.LazyLinear(3))


def test_prefixes_are_taken_off_the_names_and_metadata_of_a_state() -> None:
    state: Any = OrderedDict({"module.0.weight": 1, "bias": 2})
    state._metadata = OrderedDict({"": 3, "module": 4, "module.0": 5})
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert dict(state) == {"bias": 2, "0.weight": 1}
    assert dict(state._metadata) == {"": 4, "0": 5}


def test_layers_of_pretrained_vectors_share_their_memory() -> None:
    for layer in (nn.Embedding, nn.EmbeddingBag):
        vectors = SPELLED.tensor([[3.0, 4.0], [0.3, 0.4]])
        layer.from_pretrained(vectors, max_norm=1.0)(SPELLED.tensor([[0, 1]]))
        assert SPELLED.allclose(vectors, SPELLED.tensor([[0.6, 0.8], [0.3, 0.4]]))


def test_attention_has_no_weights_of_single_inputs_where_one_weight_has_all() -> None:
    layer = nn.MultiheadAttention(4, 2)
    assert layer.q_proj_weight is layer.k_proj_weight is layer.v_proj_weight is None
    assert sorted(layer.state_dict()) == ["in_proj_bias", "in_proj_weight", "out_proj.bias", "out_proj.weight"]


def test_conversions_that_change_nothing_give_the_tensor_itself() -> None:
    x = SPELLED.ones(3, dtype=SPELLED.float32, requires_grad=True)
    same = [x.to(SPELLED.float32), x.float(), x.to("cpu", SPELLED.float32), x.type("torch.FloatTensor"), x.to(x)]
    assert all(y is x for y in same)
    assert x.to(SPELLED.float32, copy=True) is not x
    x.float().sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_parametrization_that_inverts_to_no_tensor_raises() -> None:
    class Nothing(nn.Module):  # type: ignore[misc]  # a class of PyTorch's spelling
        def forward(self, x: Any) -> Any:
            return x

        def right_inverse(self, x: Any) -> None:
            return None

    layer = nn.Linear(2, 2)
    text = r"^The `right_inverse` must return a Tensor or a Sequence of tensors \(list, tuple\.\.\.\), found NoneType$"
    with pytest.raises(ValueError, match=text):
        nn.utils.parametrize.register_parametrization(layer, "weight", Nothing())
    assert not nn.utils.parametrize.is_parametrized(layer)


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_the_graph_get_gradients_with_pytorchs_methods(create_graph: bool) -> None:
    sizes: list[Any] = []

    def before(grad_outputs: Any) -> Any:
        sizes.append(grad_outputs[0].size())
        return (grad_outputs[0].mul(2.0),)

    def after(grad_inputs: Any, grad_outputs: Any) -> Any:
        sizes.append((grad_inputs[0].view(-1).size(0), grad_inputs[1]))
        return (grad_inputs[0].add(1.0), None)

    x = SPELLED.ones(2, 3, requires_grad=True)
    y = (x * 3.0).exp()
    product = y.grad_fn.next_functions[0][0]
    product.register_prehook(before)
    product.register_hook(after)
    product.next_functions[0][0].register_hook(lambda of_inputs, of_outputs: sizes.append(of_outputs[0].size()))
    y.sum().backward(create_graph=create_graph)
    assert sizes == [(2, 3), (6, None), (2, 3)]
    assert SPELLED.allclose(x.grad, 6 * y + 1)


def test_hooks_of_one_of_several_outputs_and_of_an_edge_get_pytorchs_tensors() -> None:
    sizes: list[Any] = []
    x = SPELLED.ones(2, 3, requires_grad=True)
    part = x.unbind()[1]
    part.grad_fn.register_prehook(lambda grads: sizes.append([g if g is None else g.size() for g in grads]))
    SPELLED.autograd.graph.get_gradient_edge(x).node.register_prehook(lambda grads: sizes.append(grads[0].size()))
    part.sum().backward()
    assert sizes == [[None, (3,)], (2, 3)]


def test_dual_tensors_have_the_vertex_of_what_is_inside() -> None:
    forward_ad = SPELLED.autograd.forward_ad
    y = SPELLED.ones(2, requires_grad=True).exp()
    with forward_ad.dual_level():
        assert forward_ad.make_dual(y, SPELLED.ones(2)).grad_fn is y.grad_fn


def test_hooks_of_the_librarys_own_tensors_get_plain_ones() -> None:
    kinds: list[Any] = []
    x = dk.tensor([1.0], requires_grad=True)
    y = dk.exp(x)
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda of_inputs, of_outputs: kinds.append(type(of_inputs[0])))
    y.sum().backward()
    assert kinds == [dk.Tensor]


def test_hooks_of_the_last_operation_get_its_gradients() -> None:
    seen: list[Any] = []
    model = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
    handle = model[1].register_backward_hook(lambda module, given, taken: seen.append((given[0].size(), taken)))
    model(SPELLED.ones(1, 2)).sum().backward()
    assert [size for size, _ in seen] == [(1, 2)]
    assert seen[0][1][0].tolist() == [[1.0, 1.0]]
    handle.remove()
    model(SPELLED.ones(1, 2)).sum().backward()
    assert len(seen) == 1
    model[1].register_backward_hook(lambda module, given, taken: (given[0] * 0,))
    x = SPELLED.ones(1, 2, requires_grad=True)
    model(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]


def test_hooks_of_the_last_operation_warn_where_it_is_not_the_whole_module() -> None:
    layer = nn.Linear(2, 2)
    layer.register_backward_hook(lambda module, given, taken: None)
    with pytest.warns(
        FutureWarning, match=r"^Using a non-full backward hook when the forward contains multiple autograd"
    ):
        layer({"x": SPELLED.ones(2)}["x"])

    class Pair(nn.Module):  # type: ignore[misc]  # of a namespace that is made
        def forward(self, x: Any) -> Any:
            return {"flag": True, "y": [x.exp()]}

    seen: list[Any] = []
    pair = Pair()
    pair.register_backward_hook(lambda module, given, taken: seen.append(taken[0].item()))
    pair(SPELLED.ones(1, requires_grad=True))["y"][0].sum().backward()
    pair(SPELLED.ones(1))
    assert seen == [1.0]


def test_hooks_of_the_last_operations_of_all_modules() -> None:
    seen: list[str] = []
    hooks: Any = of_modules
    with hooks.register_module_backward_hook(lambda module, given, taken: seen.append(type(module).__name__)):
        nn.Tanh()(nn.Sigmoid()(SPELLED.ones(2, requires_grad=True))).sum().backward()
    assert seen == ["Tanh", "Sigmoid"]


def test_hooks_see_and_replace_what_modules_register() -> None:
    seen: list[str] = []
    hooks: Any = of_modules

    def note(module: Any, name: str, value: Any) -> None:
        value.noted = True
        seen.append(name)

    with (
        hooks.register_module_parameter_registration_hook(note),
        hooks.register_module_buffer_registration_hook(note),
        hooks.register_module_module_registration_hook(lambda module, name, child: nn.Tanh()),
    ):
        layer = nn.BatchNorm1d(2)
        model = nn.Sequential(nn.ReLU())
        nn.Linear(1, 1, bias=False).register_parameter("bias", None)
        with (
            hooks.register_module_module_registration_hook(lambda module, name, child: 3),
            pytest.raises(TypeError, match="is not a Module subclass"),
        ):
            nn.Sequential(nn.ReLU())
    assert seen == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "weight"]
    assert layer.weight.noted
    assert layer.running_mean.noted
    assert str(model) == "Sequential(\n  (0): Tanh()\n)"
    nn.Sequential(nn.Linear(1, 1))
    assert len(seen) == 6


def test_functions_that_are_attributes_of_a_class_of_modules_are_no_methods() -> None:
    class Activation(nn.Module):  # type: ignore[misc]  # of a namespace that is made
        function = SPELLED.relu

        def forward(self, x: Any) -> Any:
            return self.function(x)

    class Other(Activation):
        function = nn.functional.hardtanh

    assert Activation()(SPELLED.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert Other()(SPELLED.tensor([-3.0, 2.0])).tolist() == [-1.0, 1.0]


def test_embeddings_may_be_whole_numbers_that_are_not_trained() -> None:
    layer = nn.Embedding.from_pretrained(SPELLED.tensor([[1, 2], [3, 4]]))
    assert layer(SPELLED.tensor([1, 0])).tolist() == [[3, 4], [1, 2]]
    assert not layer.weight.requires_grad
    with pytest.raises(RuntimeError, match="only floating-point and complex tensors can require gradients"):
        nn.Embedding.from_pretrained(SPELLED.tensor([[1, 2], [3, 4]]), freeze=False)


def test_parameters_of_a_plain_dictionary_stand_in_the_order_of_their_names() -> None:
    one, other = SPELLED.ones(1), SPELLED.zeros(1)
    parameters = nn.ParameterDict({"b": one, "a": other})
    assert list(parameters.keys()) == ["a", "b"]
    parameters.update({"d": one, "c": other})
    parameters.update([("f", one), ("e", other)])
    parameters.update(OrderedDict([("h", one), ("g", other)]))
    parameters.update(nn.ParameterDict([("z", one), ("y", other)]))
    assert "".join(parameters.keys()) == "abcdfehgzy"
    assert isinstance(parameters["a"], nn.Parameter)
