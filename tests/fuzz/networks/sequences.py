"""Recurrent layers, attention and embeddings."""

from __future__ import annotations

from tests.fuzz.networks import peers
from tests.fuzz.networks.drawing import Unfit, Writer
from tests.fuzz.networks.network import Drawn


def recurrent(w: Writer) -> int:
    """An LSTM, GRU or plain layer, in one direction or both."""
    x = w.pick(3)
    _, length, size = w.shape(x)
    if length > 12:
        raise Unfit
    kind, hidden, bias, both = w.one(("LSTM", "GRU", "RNN")), w.one((1, 3, 5, 8, 16)), w.chance(0.7), w.chance(0.4)
    directions = ("forward.", "reverse.") if both else ("",)
    parameters = {}
    for direction in directions:
        for gate in peers.GATES[kind]:
            for part, inputs in (("input_transform", size), ("hidden_transform", hidden)):
                path = f"{direction}{gate}.{part}"
                parameters[f"{path}.weight"] = w.weight((inputs, hidden), inputs)
                if bias:
                    parameters[f"{path}.bias"] = Drawn((hidden,), 0.3)
    name = {"LSTM": "Lstm", "GRU": "Gru", "RNN": "Rnn"}[kind]
    config = f"nn.{'Bi' if both else ''}{name}Config({size}, {hidden}, {bias}).init(device)"
    theirs = (
        f'peers.recurrent({kind!r}, $0, p, "$L", {hidden}, {bias}, batch_first=True, directions={directions})'
    ).replace("$L", f"layer{len(w.values)}")
    return w.add([x], "$m($0)" if kind == "GRU" and not both else "$m($0)[0]", theirs, config, parameters)


def attention(w: Writer, x: int | None = None) -> int:
    """Attention with heads, of a sequence to itself or to another one."""
    x = w.pick(3) if x is None else x
    _, length, size = w.shape(x)
    if length > 40:
        raise Unfit
    heads = w.one([n for n in range(1, size + 1) if size % n == 0])
    others = [n for n in w.floats(3) if w.shape(n)[0] == w.shape(x)[0] and w.shape(n)[2] == size]
    memory = w.one(others) if w.chance(0.3) else x
    causal, quiet, bias = memory == x and w.chance(0.4), w.chance(0.15), w.chance(0.8)
    parameters = {}
    for name in ("query", "key", "value", "output"):
        parameters[f"{name}.weight"] = w.weight((size, size), size)
        if bias:
            parameters[f"{name}.bias"] = Drawn((size,), 0.3)
    biases = ", ".join(f"{name}_bias={bias}" for name in ("key", "value", "query", "output"))
    config = f"nn.MultiHeadAttentionConfig({size}, {heads}, dropout=0.0, quiet_softmax={quiet}, {biases}).init(device)"
    asked = "nn.MhaInput($0, $1, $1)"
    if causal:
        batch = w.shape(x)[0]
        asked += f".mask_attn(nn.generate_autoregressive_mask({batch}, {length}, $0.device))"
    theirs = f'peers.attention($0, $1, p, "layer{len(w.values)}", {heads}, {causal}, {quiet})'
    return w.add([x, memory], f"$m({asked}).context", theirs, config, parameters)


def plain_attention(w: Writer) -> int:
    """The attention operation by itself."""
    x = w.pick(4)
    _, _, length, size = w.shape(x)
    if length > 64 or size > 64:
        raise Unfit
    causal = w.chance(0.4)
    options = f"options=module.AttentionModuleOptions(is_causal={causal})"
    return w.add([x], f"module.attention($0, $0, $0, {options})", f"peers.weighed($0, $0, $0, {causal})")


def embedding(w: Writer) -> int:
    """Rows of a table, chosen by a new input of whole numbers."""
    rows, size = w.one((1, 3, 7, 50)), w.one((1, 3, 8, 16, 33))
    batch = w.shape(0)[0]
    number = w.add_input(Drawn((batch, w.random.randint(1, 9)), count=rows))
    parameters = {"weight": Drawn((rows, size))}
    return w.add(
        [number], "$m($0)", "F.embedding($0, $.weight)", f"nn.EmbeddingConfig({rows}, {size}).init(device)", parameters
    )
