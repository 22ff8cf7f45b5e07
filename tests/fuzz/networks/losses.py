"""Losses and distances, each with its own inputs."""

from __future__ import annotations

from tests.fuzz.networks.drawing import Writer
from tests.fuzz.networks.network import Drawn

ROWS, WIDTHS = (1, 2, 3, 7, 16), (1, 2, 3, 5, 17, 33)


def _reduction(w: Writer) -> tuple[str, str]:
    ours, theirs = w.one((("Mean", "mean"), ("Sum", "sum")))
    return f"nn.loss.Reduction.{ours}", f"reduction={theirs!r}"


def _matrix(w: Writer, least: int = 1) -> tuple[int, int]:
    return w.one(ROWS), w.one([size for size in WIDTHS if size >= least])


def _floats(w: Writer, shape: tuple[int, ...], count: int) -> list[int]:
    return [w.add_input(Drawn(shape)) for _ in range(count)]


def numbers(w: Writer) -> int:
    """Losses of numbers against numbers."""
    shape = w.one(((w.one(ROWS),), _matrix(w), (2, *_matrix(w))))
    operands = _floats(w, shape, 2)
    ours, theirs = _reduction(w)
    a = w.one((0.3, 1.0, 1.7))
    module, function = w.one((
        ("MseLoss()", "F.mse_loss($0, $1.detach(), {r})"),
        (f"HuberLossConfig({a}).init()", f"F.huber_loss($0, $1.detach(), delta={a}, {{r}})"),
        (f"SmoothL1LossConfig({a}).init()", f"F.smooth_l1_loss($0, $1.detach(), beta={a}, {{r}})"),
        ("LpLoss.l1()", "F.l1_loss($0, $1.detach(), {r})"),
        ("LpLoss.l2()", "F.mse_loss($0, $1.detach(), {r})"),
        ("PoissonNllLossConfig(True, False).init()", "F.poisson_nll_loss($0, $1.detach(), True, False, {r})"),
        ("SoftMarginLoss()", "F.soft_margin_loss($0, $1.detach(), {r})"),
    ))  # fmt: skip
    function = function.format(r=theirs) + ".reshape(1)"
    return w.add(operands, f"$m($0, $1.detach(), {ours})", function, f"nn.loss.{module}")


def gaussian(w: Writer) -> int:
    """Targets under predicted means and variances."""
    shape = _matrix(w)
    operands = [*_floats(w, shape, 2), w.add_input(Drawn(shape, 0.3, 1.0))]
    ours, theirs = _reduction(w)
    full = w.chance(0.5)
    function = f"F.gaussian_nll_loss($0, $1.detach(), $2, full={full}, eps=1e-6, {theirs}).reshape(1)"
    return w.add(
        operands, f"$m($0, $1.detach(), $2, {ours})", function, f"nn.loss.GaussianNLLLossConfig({full}).init()"
    )


def cross_entropy(w: Writer) -> int:
    """Classes against rows of logits, weighed and smoothed."""
    rows, classes = _matrix(w, 2)
    operands = [w.add_input(Drawn((rows, classes))), w.add_input(Drawn((rows,), count=classes))]
    weights = [round(0.3 + 0.7 * w.random.random(), 3) for _ in range(classes)] if w.chance(0.4) else None
    smoothing = w.one((None, 0.1, 0.3))
    config = f"nn.loss.CrossEntropyLossConfig(weights={weights}, smoothing={smoothing}).init(device)"
    given = "None" if weights is None else f"torch.tensor({weights}, dtype=torch.float32).double()"
    function = f"F.cross_entropy($0, $1, {given}, label_smoothing={smoothing or 0.0}).reshape(1)"
    return w.add(operands, "$m($0, $1)", function, config)


def binary_cross_entropy(w: Writer) -> int:
    """Truths against logits or shares."""
    shape = _matrix(w)
    operands = [w.add_input(Drawn(shape)), w.add_input(Drawn(shape, count=2))]
    if w.chance(0.5):
        config, ours = "nn.loss.BinaryCrossEntropyLossConfig(logits=True).init(device)", "$m($0, $1)"
        return w.add(operands, ours, "F.binary_cross_entropy_with_logits($0, $1.double()).reshape(1)", config)
    # by hand: PyTorch's own refuses truths that were moved above 1
    function = "-torch.where($1 > 0, torch.sigmoid($0), 1.0 - torch.sigmoid($0)).log().mean().reshape(1)"
    config = "nn.loss.BinaryCrossEntropyLossConfig().init(device)"
    return w.add(operands, "$m($0.sigmoid(), $1)", function, config)


def divergence(w: Writer) -> int:
    """How far one distribution is from another."""
    operands = _floats(w, _matrix(w, 2), 2)
    logs = w.chance(0.5)
    ours, theirs = w.one((("BatchMean", "batchmean"), ("Sum", "sum"), ("Mean", "mean")))
    target = "$1.log_softmax(1).detach()" if logs else "$1.softmax(1).detach()"
    function = f"F.kl_div($0.log_softmax(1), {target}, reduction={theirs!r}, log_target={logs}).reshape(1)"
    code = f"$m($0.log_softmax(1), {target}, nn.loss.Reduction.{ours})"
    return w.add(operands, code, function, f"nn.loss.KLDivLossConfig({logs}).init()")


def ranking(w: Writer) -> int:
    """Losses with a margin, of pairs and classes."""
    rows, width = _matrix(w, 2)
    ours, theirs = _reduction(w)
    margin = w.one((0.2, 0.5, 1.0))
    kind = w.one(("cosine", "hinge", "margin", "classes", "triplet"))
    if kind == "classes":
        operands = [w.add_input(Drawn((rows, width))), w.add_input(Drawn((rows,), count=width))]
        power = w.one((1, 2))
        function = f"F.multi_margin_loss($0, $1, {power}, {margin}, {theirs}).reshape(1)"
        config = f"nn.loss.MultiMarginLossConfig({margin}, {power}).init()"
        return w.add(operands, f"$m($0, $1, {ours})", function, config)
    if kind == "triplet":
        swap = w.chance(0.5)
        function = f"F.triplet_margin_loss($0, $1, $2, {margin}, 2.0, 1e-6, {swap}, {theirs}).reshape(1)"
        config = f"nn.loss.TripletMarginLossConfig({margin}, swap={swap}).init()"
        return w.add(_floats(w, (rows, width), 3), f"$m($0, $1, $2, {ours})", function, config)
    shape = (rows,) if kind == "margin" else (rows, width)
    operands = _floats(w, shape, 1 if kind == "hinge" else 2)
    signs = w.add_input(Drawn(shape if kind == "hinge" else (rows,), count=2))
    place = len(operands)
    sides = f"(${place} * 2 - 1)"
    if kind == "hinge":
        function = f"F.hinge_embedding_loss($0, {sides}, {margin}, {theirs}).reshape(1)"
        config = f"nn.loss.HingeEmbeddingLossConfig({margin}).init()"
        return w.add([*operands, signs], f"$m($0, {sides}, {ours})", function, config)
    name = {"cosine": "CosineEmbedding", "margin": "MarginRanking"}[kind]
    peer = {"cosine": "cosine_embedding_loss", "margin": "margin_ranking_loss"}[kind]
    function = f"F.{peer}($0, $1, {sides}, {margin}, {theirs}).reshape(1)"
    if kind == "cosine":
        config, code = f"nn.loss.CosineEmbeddingLossConfig({margin}, {ours}).init()", f"$m($0, $1, {sides})"
    else:
        config, code = f"nn.loss.{name}LossConfig({margin}).init()", f"$m($0, $1, {sides}, {ours})"
    return w.add([*operands, signs], code, function, config)


def distance(w: Writer) -> int:
    """How alike rows are, and how far apart."""
    operands = _floats(w, _matrix(w, 2), 2)
    if w.chance(0.5):
        return w.add(operands, "$m($0, $1)", "F.cosine_similarity($0, $1)", "nn.CosineSimilarityConfig().init()")
    power = w.one((1.0, 2.0, 3.0))
    function = f"F.pairwise_distance($0, $1, {power})"
    return w.add(operands, "$m($0, $1)", function, f"nn.PairwiseDistanceConfig({power}).init()")


def alignment(w: Writer) -> int:
    """Texts against sequences of shares of classes."""
    time, batch, classes = w.one((5, 8, 12)), w.one((1, 2, 3)), w.one((3, 5))
    length = w.random.randint(1, 2)
    operands = [w.add_input(Drawn((time, batch, classes))), w.add_input(Drawn((batch, length), count=classes - 1))]
    ours, theirs = w.one((("Mean", "mean"), ("Sum", "sum")))
    given = ", ".join(f"Tensor.full([{batch}], {each}, $0.device, 'i64')" for each in (time, length))
    asked = ", ".join(f"torch.tensor({[each] * batch})" for each in (time, length))
    function = f"F.ctc_loss($0.log_softmax(2), $1 + 1, {asked}, reduction={theirs!r}).reshape(1)"
    code = f"$m($0.log_softmax(2), $1 + 1, {given}, nn.loss.Reduction.{ours})"
    return w.add(operands, code, function, "nn.loss.CTCLossConfig().init()")


LOSSES = (
    numbers, numbers, gaussian, cross_entropy, cross_entropy, binary_cross_entropy, divergence, ranking, distance,
    alignment,
)  # fmt: skip
