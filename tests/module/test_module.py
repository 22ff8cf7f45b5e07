"""Modules as values: fields, walking, mapping, devices, modes, trees."""

from __future__ import annotations

import copy
import pickle

import pytest

from burn import ArgumentError, NdArray, Tensor
from burn.module import Ignored, Module, ModuleEnum, ModuleMapper, ModuleVisitor, Param, State
from burn.tree import flatten, unflatten

DEVICE = NdArray()
TRACKED = DEVICE.autodiff()


class Affine(Module):
    """A layer, declared like a dataclass."""

    weight: Param
    bias: Param | None
    scale: float = 1.0

    def forward(self, x):
        y = x @ self.weight * self.scale
        return y if self.bias is None else y + self.bias


class Noise(Module):
    """Something that behaves differently in training."""

    def forward(self, x):
        return x * 2.0 if self.is_training(x.device) else x


class Network(Module):
    """A module with its own constructor and all kinds of fields."""

    def __init__(self, device):
        self.first = affine(3, 4, device)
        self.rest = [affine(4, 4, device), affine(4, 2, device, bias=False)]
        self.named = {"gain": Param(Tensor.ones([2], device))}
        self.noise = Noise()
        self.count = State.full([2], 0.0, device)
        self.table = Tensor.ones([2], device)
        self.label = "network"
        self.cache = Ignored(Tensor.ones([7], device))

    def forward(self, x):
        x = self.noise(self.first(x))
        for layer in self.rest:
            x = layer(x)
        if self.is_training(x.device):
            self.count.update(self.count.value + 1.0)
        return x * self.named["gain"] + self.table


def affine(inputs, outputs, device, bias=True):
    weight = Param(Tensor.random([inputs, outputs], device=device))
    return Affine(weight, Param(Tensor.zeros([outputs], device)) if bias else None)


class Floats(ModuleVisitor):
    def __init__(self):
        self.ids, self.path, self.paths = [], [], []

    def enter_module(self, name, container_type):
        self.path.append(f"{name}({container_type})")

    def exit_module(self, name, container_type):
        self.path.pop()

    def visit_float(self, id, tensor):
        self.ids.append(id)
        self.paths.append(".".join(self.path))


def test_annotated_fields_make_the_constructor():
    layer = Affine(weight=Param(Tensor.ones([1, 1], DEVICE)))
    assert layer.bias is None
    assert layer.scale == 1.0
    with pytest.raises(ArgumentError, match="needs weight") as caught:
        Affine(wieght=1, scale=2.0)
    assert "has no field 'wieght'" in str(caught.value)


def test_a_plain_constructor_needs_no_super_call_and_paths_are_dotted():
    paths = [path for path, _ in Network(DEVICE).named_parameters()]
    assert paths == ["first.weight", "first.bias", "rest.0.weight", "rest.0.bias", "rest.1.weight", "named.gain"]


def test_num_params_counts_float_parameters_and_states_once():
    network = Network(DEVICE)
    assert network.num_params() == 3 * 4 + 4 + 4 * 4 + 4 + 4 * 2 + 2 + 2
    network.again = network.first
    assert network.num_params() == 3 * 4 + 4 + 4 * 4 + 4 + 4 * 2 + 2 + 2


def test_visitors_see_parameters_in_order_with_their_containers():
    visitor = Floats()
    network = Network(DEVICE)
    network.visit(visitor)
    assert visitor.ids[0] == network.first.weight.id
    assert len(visitor.ids) == 7
    assert visitor.paths[2] == "rest(List).0(Struct:Affine).weight(Param)"


class Clamp(ModuleMapper):
    def map_float(self, id, tensor):
        return tensor.clamp(-0.5, 0.5)


class ClampBelowAutodiff(ModuleMapper):
    def map_float(self, id, tensor):
        tracked = tensor.is_require_grad()
        tensor = Tensor.from_inner(tensor.inner().clamp(-0.5, 0.5))
        return tensor.require_grad() if tracked else tensor


@pytest.mark.parametrize("mapper", [Clamp(), ClampBelowAutodiff()], ids=["plain", "below autodiff"])
def test_clamping_keeps_ids_and_gradients_and_leaves_the_old_model(mapper):
    model = affine(5, 5, TRACKED).map(lambda param: param.val().detach() * 10.0)
    before = model.weight.numpy().copy()
    clamped = model.map(mapper)
    assert abs(clamped.weight.numpy()).max() <= 0.5 < abs(before).max()
    assert (model.weight.numpy() == before).all()
    assert clamped.weight.id == model.weight.id
    assert clamped.weight.is_require_grad()
    assert clamped(Tensor.ones([1, 5], TRACKED)).sum().backward().get(clamped.weight) is not None


def test_a_parameter_at_two_places_stays_one():
    layer = affine(2, 2, TRACKED)
    model = Chain([layer, layer])
    model.extra = layer.weight
    for other in (model.map(Clamp()), model.valid(), model.to_device(DEVICE), model.no_grad(), model.clone()):
        assert other.layers[0] is other.layers[1]
        assert other.layers[0].weight is other.extra


class Chain(Module):
    layers: list[Affine]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_moving_takes_parameters_states_and_constants_along_but_not_what_is_ignored():
    network = Network(TRACKED).to_device(DEVICE)
    assert network.devices() == [DEVICE]
    assert network.table.device is DEVICE
    assert network.cache.value.device is TRACKED


def test_fork_starts_a_graph_of_its_own():
    network = Network(TRACKED)
    fork = network.fork(TRACKED)
    grads = fork(Tensor.ones([1, 3], TRACKED)).sum().backward()
    assert grads.get(fork.first.weight) is not None
    assert grads.get(network.first.weight) is None
    assert fork.first.weight.id == network.first.weight.id


def test_freezing_by_path_names_what_is_not_there():
    network = Network(TRACKED).freeze("rest")
    frozen = [path for path, param in network.named_parameters() if not param.trainable]
    assert frozen == ["rest.0.weight", "rest.0.bias", "rest.1.weight"]
    assert all(param.trainable for param in network.unfreeze("rest").parameters())
    with pytest.raises(ArgumentError, match=r"no parameter is at rset; there are first\.weight"):
        network.freeze("rset")


def test_calling_lifts_plain_tensors_so_that_training_is_seen():
    x = Tensor.ones([1, 3], DEVICE)
    network = Network(TRACKED)
    assert network(x).device is TRACKED
    assert network.count.value.tolist() == [1.0, 1.0]


def test_valid_strips_autodiff_and_stops_training():
    network = Network(Tensor.ones([1], TRACKED).device)
    valid = network.valid()
    assert valid.devices() == [DEVICE]
    valid(Tensor.ones([1, 3], DEVICE))
    assert valid.count.value.tolist() == [0.0, 0.0]
    assert not valid.noise.is_training(TRACKED)
    assert valid.train().noise.is_training(TRACKED)
    assert network.mode("train").valid().mode("train").noise.is_training(DEVICE)


def test_a_model_kept_aside_is_a_true_snapshot():
    network = Network(TRACKED)
    aside = network.clone()
    network(Tensor.ones([1, 3], TRACKED))
    assert network.count.value.tolist() == [1.0, 1.0]
    assert aside.count.value.tolist() == [0.0, 0.0]


def test_a_module_is_a_tree():
    network = Network(TRACKED)
    leaves, structure = flatten(network)
    again = unflatten(structure, leaves)
    assert type(again) is Network
    assert again.label == "network"
    assert again.first.weight is network.first.weight
    assert hash(structure) == hash(flatten(network)[1])


def test_leaves_are_taken_anew_when_a_field_or_a_list_changes():
    model = Chain([affine(2, 2, DEVICE), affine(2, 2, DEVICE)])
    first = flatten(model)
    assert flatten(model)[0] is not None
    model.layers.append(affine(2, 2, DEVICE))
    assert len(flatten(model)[0]) == len(first[0]) + 2
    model.layers[0].bias = None
    assert len(flatten(model)[0]) == len(first[0]) + 1
    model.layers[1].scale = 3.0
    assert flatten(model)[1] != first[1]


def test_modules_are_copied_and_pickled_with_their_fields():
    model = Chain([affine(2, 2, DEVICE)])
    flatten(model)
    again = pickle.loads(pickle.dumps(model))
    assert again.layers[0].weight.id == model.layers[0].weight.id
    assert copy.copy(model).layers is model.layers
    assert copy.deepcopy(model).layers[0].weight is model.layers[0].weight


def test_misspelt_attributes_suggest_the_right_one():
    with pytest.raises(AttributeError, match="did you mean 'first'"):
        Network(DEVICE).frist  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no forward; write `def forward"):
        Ignorant()(Tensor.ones([1], DEVICE))


class Ignorant(Module):
    pass


class Block(ModuleEnum):
    Dense: Affine
    Quiet: Noise


def test_enumerations_hold_one_of_several_modules():
    dense = Block.Dense(affine(2, 2, DEVICE))
    assert dense.variant == "Dense"
    assert dense.Dense is dense.value
    assert dense(Tensor.ones([1, 2], DEVICE)).shape == (1, 2)
    assert dense.map(Clamp()).variant == "Dense"
    match Block.Quiet(Noise()):
        case Block("Quiet", inner):
            assert isinstance(inner, Noise)
        case _:
            pytest.fail("no match")
    with pytest.raises(AttributeError, match="is the variant Dense, not Quiet"):
        dense.Quiet  # noqa: B018
    with pytest.raises(ArgumentError, match="none of its variants: Dense, Quiet"):
        Block("Loud", None)


def test_a_mode_must_be_known():
    with pytest.raises(ArgumentError, match="must be one of 'auto', 'train', 'infer', got 'eval'"):
        Network(DEVICE).mode("eval")
