"""Losses against PyTorch: values and gradients, over options and odd shapes, on every kind of device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import ArgumentError, Cpu, LibTorch, NdArray, ShapeError, Tensor, f64
from burn.nn.loss import (
    BinaryCrossEntropyLossConfig,
    CosineEmbeddingLossConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
    CTCLossConfig,
    GaussianNLLLossConfig,
    HingeEmbeddingLossConfig,
    HuberLossConfig,
    KLDivLossConfig,
    LpLoss,
    MarginRankingLossConfig,
    MseLoss,
    MultiMarginLossConfig,
    PoissonNllLossConfig,
    Reduction,
    SmoothL1LossConfig,
    SoftMarginLoss,
    TripletMarginLossConfig,
)

DEVICES = [NdArray(float=f64).autodiff(), LibTorch("cpu", float=f64).autodiff(), Cpu(float=f64).autodiff()]
functional = torch.nn.functional
RANDOM = np.random.default_rng(7)


def floats(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape)


def classes(count, *shape):
    return RANDOM.integers(0, count, shape)


def signs(*shape):
    return RANDOM.integers(0, 2, shape) * 2 - 1


def shares(*shape):
    return torch.softmax(torch.from_numpy(floats(*shape)), -1).numpy()


CASES = {
    "mse": (lambda d: MseLoss(), functional.mse_loss, [floats(3, 4), floats(3, 4)]),
    "huber": (lambda d: HuberLossConfig(0.7).init(), lambda x, y: functional.huber_loss(x, y, delta=0.7),
              [floats(5, 2), floats(5, 2)]),
    "smooth l1": (lambda d: SmoothL1LossConfig(0.3).init(), lambda x, y: functional.smooth_l1_loss(x, y, beta=0.3),
                  [floats(7), floats(7)]),
    "l1": (lambda d: LpLoss.l1(), functional.l1_loss, [floats(2, 3, 4), floats(2, 3, 4)]),
    "l2": (lambda d: LpLoss.l2(), functional.mse_loss, [floats(6), floats(6)]),
    "l3": (lambda d: LpLoss(3.0), lambda x, y: (x - y).abs().pow(3).mean(), [floats(6), floats(6)]),
    "poisson": (lambda d: PoissonNllLossConfig().init(), functional.poisson_nll_loss, [floats(4, 3), classes(9, 4, 3)]),
    "poisson full": (lambda d: PoissonNllLossConfig(log_input=False, full=True).init(),
                     lambda x, y: functional.poisson_nll_loss(x, y.to(x), log_input=False, full=True),
                     [floats(20, low=0.1), classes(9, 20)]),
    "gaussian": (lambda d: GaussianNLLLossConfig().init(), functional.gaussian_nll_loss,
                 [floats(4, 3), floats(4, 3), floats(4, 3, low=0.1)]),
    "gaussian full": (lambda d: GaussianNLLLossConfig(full=True, eps=0.5).init(),
                      lambda x, y, v: functional.gaussian_nll_loss(x, y, v, full=True, eps=0.5),
                      [floats(9), floats(9), floats(9, low=0.01)]),
    "cross entropy": (lambda d: CrossEntropyLoss(None, d), functional.cross_entropy, [floats(5, 4), classes(4, 5)]),
    "padded": (lambda d: CrossEntropyLoss(1, d), lambda x, y: functional.cross_entropy(x, y, ignore_index=1),
               [floats(8, 3), np.array([0, 1, 2, 1, 1, 0, 2, 2])]),
    "weighted": (lambda d: CrossEntropyLossConfig(weights=[0.5, 2.0, 1.5]).init(d),
                 lambda x, y: functional.cross_entropy(x, y, torch.tensor([0.5, 2.0, 1.5]).to(x)),
                 [floats(8, 3), classes(3, 8)]),
    "smoothed": (lambda d: CrossEntropyLossConfig(smoothing=0.1).init(d),
                 lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1), [floats(6, 5), classes(5, 6)]),
    "weighted, smoothed, padded": (
        lambda d: CrossEntropyLossConfig(pad_tokens=[2], weights=[0.5, 2.0, 1.5], smoothing=0.3).init(d),
        lambda x, y: functional.cross_entropy(
            x, y, torch.tensor([0.5, 2.0, 1.5]).to(x), ignore_index=2, label_smoothing=0.3),
        [floats(9, 3), np.array([0, 1, 2, 1, 1, 0, 2, 2, 0])]),
    "probabilities": (lambda d: CrossEntropyLossConfig(logits=False).init(d),
                      lambda x, y: functional.nll_loss(x.log(), y), [shares(6, 4), classes(4, 6)]),
    "binary": (lambda d: BinaryCrossEntropyLossConfig().init(d),
               lambda x, y: functional.binary_cross_entropy(x, y.to(x)),
               [floats(4, 3, low=0.01, high=0.99), classes(2, 4, 3)]),
    "binary logits": (lambda d: BinaryCrossEntropyLossConfig(logits=True).init(d),
                      lambda x, y: functional.binary_cross_entropy_with_logits(x, y.to(x)),
                      [floats(4, 3, low=-30, high=30), classes(2, 4, 3)]),
    "binary weighted": (lambda d: BinaryCrossEntropyLossConfig(weights=[0.5, 2.0, 1.0], logits=True).init(d),
                        lambda x, y: functional.binary_cross_entropy_with_logits(
                            x, y.to(x), weight=torch.tensor([0.5, 2.0, 1.0]).to(x)),
                        [floats(4, 3), classes(2, 4, 3)]),
    "binary smoothed": (lambda d: BinaryCrossEntropyLossConfig(smoothing=0.2, logits=True).init(d),
                        lambda x, y: functional.binary_cross_entropy_with_logits(x, y.to(x) * 0.8 + 0.2 / 3),
                        [floats(4, 3), classes(2, 4, 3)]),
    "cosine": (lambda d: CosineEmbeddingLossConfig(margin=0.2).init(),
               lambda x, y, t: functional.cosine_embedding_loss(x, y, t, margin=0.2),
               [floats(6, 4), floats(6, 4), signs(6)]),
    "hinge": (lambda d: HingeEmbeddingLossConfig(0.7).init(),
              lambda x, t: functional.hinge_embedding_loss(x, t, margin=0.7), [floats(5, 2), signs(5, 2)]),
    "ranking": (lambda d: MarginRankingLossConfig(0.3).init(),
                lambda x, y, t: functional.margin_ranking_loss(x, y, t, margin=0.3), [floats(7), floats(7), signs(7)]),
    "multi margin": (lambda d: MultiMarginLossConfig(0.8, 2).init(),
                     lambda x, t: functional.multi_margin_loss(x, t, p=2, margin=0.8), [floats(5, 4), classes(4, 5)]),
    "soft margin": (lambda d: SoftMarginLoss(), functional.soft_margin_loss, [floats(5, 4), signs(5, 4)]),
    "triplet": (lambda d: TripletMarginLossConfig(margin=0.5).init(),
                lambda a, p, n: functional.triplet_margin_loss(a, p, n, margin=0.5),
                [floats(6, 3), floats(6, 3), floats(6, 3)]),
    "triplet swapped": (lambda d: TripletMarginLossConfig(p=1.0, swap=True).init(),
                        lambda a, p, n: functional.triplet_margin_loss(a, p, n, p=1.0, swap=True),
                        [floats(6, 3), floats(6, 3), floats(6, 3)]),
    "divergence": (lambda d: KLDivLossConfig().init(),
                   lambda x, y: functional.kl_div(x, y, reduction="batchmean"), [np.log(shares(4, 5)), shares(4, 5)]),
    "divergence of logarithms": (lambda d: KLDivLossConfig(log_target=True).init(),
                                 lambda x, y: functional.kl_div(x, y, reduction="batchmean", log_target=True),
                                 [np.log(shares(4, 5)), np.log(shares(4, 5))]),
    # PyTorch's gradient of ctc_loss supposes that it flows on through a log_softmax, so both sides get one.
    "ctc": (lambda d: lambda x, *rest: CTCLossConfig().init()(x.log_softmax(2), *rest),
            lambda x, t, i, j: functional.ctc_loss(x.log_softmax(2), t, i, j),
            [floats(9, 2, 4), np.array([[1, 2, 2], [3, 1, 0]]), np.array([9, 7]), np.array([3, 2])]),
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_equal_those_of_pytorch(name, device):
    build, oracle, arrays = CASES[name]
    theirs = [torch.from_numpy(np.array(each)) for each in arrays]
    mine = [Tensor.from_data(each, device) for each in arrays]
    for index, array in enumerate(arrays):
        if array.dtype == np.float64:
            theirs[index].requires_grad_()
            mine[index] = mine[index].require_grad()
    expected = oracle(*theirs)
    expected.backward()
    found = build(device)(*mine)
    assert found.shape == (1,)
    assert np.allclose(found.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-10)
    grads = found.backward()
    for ours, other in zip(mine, theirs, strict=True):
        if other.grad is not None:
            assert np.allclose(ours.grad(grads).numpy(), other.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_reductions_and_losses_of_single_elements(reduction):
    x, y = floats(3, 4), floats(3, 4)
    device = NdArray(float=f64)
    chosen = Reduction.Sum if reduction == "sum" else Reduction.Mean
    found = MseLoss()(Tensor.from_data(x, device), Tensor.from_data(y, device), chosen)
    expected = functional.mse_loss(torch.from_numpy(x), torch.from_numpy(y), reduction=reduction)
    assert np.allclose(found.numpy(), expected.numpy())
    single = MseLoss().forward_no_reduction(Tensor.from_data(x, device), Tensor.from_data(y, device))
    assert np.allclose(single.numpy(), (x - y) ** 2)


def test_impossible_alignments_count_as_zero_when_asked():
    device = NdArray(float=f64)
    arrays = [np.log(shares(2, 1, 4)), np.array([[1, 1, 1]]), np.array([2]), np.array([3])]
    tensors = [Tensor.from_data(each, device) for each in arrays]
    assert np.isinf(CTCLossConfig().init()(*tensors).item())
    assert CTCLossConfig(zero_infinity=True).init()(*tensors).item() == 0.0


def test_all_faults_of_the_settings_are_listed_at_once():
    with pytest.raises(
        ArgumentError, match=r"weights must all be above 0.*smoothing must be between 0 and 1"
    ) as caught:
        CrossEntropyLossConfig(weights=[1.0, -1.0], smoothing=2.0).init(NdArray())
    assert "[1.0, -1.0]" in str(caught.value)


@pytest.mark.parametrize("loss", [MseLoss(), HuberLossConfig(1.0).init(), SoftMarginLoss()])
def test_losses_never_broadcast(loss):
    with pytest.raises(ShapeError, match=r"differ: \(3, 1\) and \(3,\)"):
        loss(Tensor.ones([3, 1], NdArray()), Tensor.ones([3], NdArray()))


def test_cross_entropy_says_which_shapes_it_needs():
    with pytest.raises(ShapeError, match=r"needs logits \(rows, classes\) and targets \(rows,\), got \(2, 3, 4\)"):
        CrossEntropyLoss()(Tensor.ones([2, 3, 4], NdArray()), Tensor.from_data([[0]], NdArray()))
