"""The learning-rate finder: train for some batches while the rate grows, and look where the loss falls fastest.

    curve = find_lr(model, AdamConfig().init(), loader)
    curve.suggestion
    curve.plot("rates.svg")

Nothing is changed: the model is a value, and the optimizer is put back as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burn.errors import ArgumentError, raise_faults
from burn.train.loading import make_feed
from burn.train.strategy.single import SingleDevice

WIDTH, HEIGHT, MARGIN = 640, 360, 48


@dataclass(frozen=True)
class LrCurve:
    """Learning `rates`, the `losses` they gave, and the losses smoothed (`smooth`): what `find_lr` found.

    `suggestion` is the rate at which the loss falls fastest, `plot(path)` draws the curve.

    >>> from burn.train import LrCurve
    >>> rates = tuple(10.0 ** (i / 5 - 6) for i in range(30))
    >>> losses = tuple(1.0 if rate < 1e-3 else 0.5 if rate < 1e-1 else 4.0 for rate in rates)
    >>> round(LrCurve(rates, losses, losses).suggestion, 4)
    0.0003
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    smooth: tuple[float, ...]

    @property
    def suggestion(self) -> float:
        """The rate at which the smoothed loss falls fastest, over a fifth of the batches around it.

        The first tenth is left out: there the average is little more than the noise of single batches.
        """
        count = len(self.rates)
        half = max(1, count // 10)
        places = range(2 * half, count - half)
        slopes = {place: self.smooth[place + half] - self.smooth[place - half] for place in places}
        if not slopes:
            raise ArgumentError(f"find_lr: {count} batches are too few for a suggestion; give a longer loader")
        return self.rates[min(slopes, key=lambda place: slopes[place])]

    def plot(self, path: Any) -> Path:
        """Draw the curve, with the suggestion marked, to an SVG file; gives its path."""
        target = Path(path)
        if target.suffix != ".svg":
            raise ArgumentError(f"LrCurve.plot: writes SVG files, got {target.name!r}; write {target.stem}.svg")
        target.write_text(self.svg(), "utf-8")
        return target

    def svg(self) -> str:
        """The curve as a picture: the loss against the rate, which grows by factors."""
        low, high = math.log10(self.rates[0]), math.log10(self.rates[-1])
        bottom, top = min(self.smooth), min(max(self.smooth), 2 * self.smooth[0] + 1e-9)

        def x(rate: float) -> float:
            return MARGIN + (math.log10(rate) - low) / max(high - low, 1e-9) * (WIDTH - 2 * MARGIN)

        def y(loss: float) -> float:
            share = (min(loss, top) - bottom) / max(top - bottom, 1e-9)
            return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)

        points = " ".join(f"{x(rate):.1f},{y(loss):.1f}" for rate, loss in zip(self.rates, self.smooth, strict=True))
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        parts = [head + 'font-size="12"><rect width="100%" height="100%" fill="white"/>']
        for power in range(math.ceil(low), math.floor(high) + 1):
            at = x(10.0**power)
            parts.append(f'<path d="M{at:.1f} {MARGIN}V{HEIGHT - MARGIN}" stroke="#ddd"/>')
            parts.append(f'<text x="{at:.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">1e{power}</text>')
        for loss in (bottom, top):
            parts.append(f'<text x="{MARGIN - 6}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.3g}</text>')
        parts.append(f'<polyline points="{points}" fill="none" stroke="#c2410c" stroke-width="2"/>')
        marked = self.suggestion
        parts.append(f'<path d="M{x(marked):.1f} {MARGIN}V{HEIGHT - MARGIN}" stroke="#1d4ed8" stroke-dasharray="4"/>')
        parts.append(f'<text x="{x(marked):.1f}" y="{MARGIN - 8}" text-anchor="middle">{marked:.2g}</text>')
        parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">learning rate</text></svg>')
        return "".join(parts) + "\n"


def find_lr(
    model: Any,
    optim: Any,
    loader: Any,
    *,
    lowest: float = 1e-7,
    highest: float = 1.0,
    batches: int = 100,
    smoothing: float = 0.9,
    diverges_at: float = 4.0,
) -> LrCurve:
    """Train for some batches while the rate grows, and look where the loss falls fastest.

    Rates grow from `lowest` to `highest` over `batches`; it ends early when the smoothed loss is `diverges_at` x the
    best. The item of a step needs a `loss`. Loaders shorter than `batches` are gone through several times. Neither the
    model nor the optimizer is changed.

    `loader` gives batches; `smoothing` is how much of the mean of losses stays with each batch.

    >>> import burn
    >>> from burn import nn
    >>> from burn.optim import SgdConfig
    >>> from burn.train import RegressionOutput, TrainOutput, find_lr
    >>> class Line(burn.Module):
    ...     layer: nn.Linear
    ...     def train_step(self, batch):
    ...         output = self.layer(batch[0])
    ...         loss = ((output - batch[1]) ** 2).mean()
    ...         return TrainOutput(self, loss.backward(), RegressionOutput(loss, output, batch[1]))
    >>> x = burn.tensor([[0.0], [1.0], [2.0]])
    >>> curve = find_lr(Line(nn.Linear(1, 1)), SgdConfig().init(), [(x, 2 * x)], batches=20)
    >>> len(curve.rates), 1e-7 < curve.suggestion < 1.0
    (20, True)
    """
    faults = []
    if not 0 < lowest < highest:
        faults.append(f"the rates grow from above 0, got {lowest} to {highest}")
    if batches < 10:
        faults.append(f"at least 10 batches are needed, got {batches}")
    if not 0 <= smoothing < 1:
        faults.append(f"the smoothing lies between 0 and 1, got {smoothing}")
    raise_faults("find_lr", faults)
    device = model.devices()[0].autodiff()
    kept = optim.to_record()
    generator, before = device.generator(), device.generator().state()
    copy = model.clone() if model.devices() == [device] else model.to_device(device)
    strategy = SingleDevice(copy, optim, device, notice=lambda reason: None)
    rates: list[float] = []
    losses: list[float] = []
    smooth: list[float] = []
    best = math.inf
    running = 0.0
    feed = make_feed(loader, [device])
    begun = feed.epoch
    try:
        while len(rates) < batches:
            count = len(rates)
            for turn in feed.turns():
                rate = lowest * (highest / lowest) ** (len(rates) / (batches - 1))
                (item,) = strategy.train(turn.batches, turn.counts, rate)
                if not hasattr(item, "loss"):
                    raise ArgumentError(f"find_lr: the item of train_step needs a loss, {type(item).__name__} has none")
                loss = float(item.loss.mean().item())
                running = smoothing * running + (1.0 - smoothing) * loss
                value = running / (1.0 - smoothing ** (len(rates) + 1))
                if not math.isfinite(loss) or value > diverges_at * best:
                    return LrCurve(tuple(rates), tuple(losses), tuple(smooth))
                rates.append(rate)
                losses.append(loss)
                smooth.append(value)
                best = min(best, value)
                if len(rates) == batches:
                    break
            if len(rates) == count:
                raise ArgumentError("find_lr: the loader gave no batch")
    finally:
        optim.load_record(kept)
        generator.restore(before)
        feed.set_epoch(begun)
    return LrCurve(tuple(rates), tuple(losses), tuple(smooth))
