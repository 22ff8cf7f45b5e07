"""Learning rates: against PyTorch's schedulers, at their edges, and after a pause."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from burn import ArgumentError
from burn.lr_scheduler import (
    ComposedLrSchedulerConfig,
    ConstantLr,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    LrSchedulerConfig,
    ModuleLrScheduler,
    NoamLrSchedulerConfig,
    SchedulerReduction,
    SequentialLrSchedulerConfig,
    StepLrSchedulerConfig,
    WarmupLrSchedulerConfig,
    as_scheduler,
)
from burn.module.groups import ParamGroup
from burn.record import BinBytesRecorder, NamedMpkBytesRecorder, Record, RecordError

CALLS = 30


def rates_of(scheduler: Any, count: int = CALLS) -> list[Any]:
    return [scheduler.step() for _ in range(count)]


def torch_rates(make: Any, start: float, count: int = CALLS) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], start)
    scheduler = make(optimizer)
    found = []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


LRS = torch.optim.lr_scheduler

PAIRS: dict[str, tuple[Any, Any, float]] = {
    "constant": (ConstantLr(0.3), lambda o: LRS.ConstantLR(o, 1.0), 0.3),
    "linear": (LinearLrSchedulerConfig(0.5, 0.1, 12), lambda o: LRS.LinearLR(o, 1.0, 0.2, 12), 0.5),
    "linear-up": (LinearLrSchedulerConfig(0.1, 0.5, 12), lambda o: LRS.LinearLR(o, 0.2, 1.0, 12), 0.5),
    "cosine": (
        CosineAnnealingLrSchedulerConfig(0.5, 12, min_lr=0.1),
        lambda o: LRS.LambdaLR(o, lambda k: (0.1 + 0.2 * (1 + math.cos(math.pi * k / 12))) / 0.5),
        0.5,
    ),
    "cosine-half-a-wave": (
        CosineAnnealingLrSchedulerConfig(0.5, CALLS),
        lambda o: LRS.CosineAnnealingLR(o, CALLS),
        0.5,
    ),
    "exponential": (ExponentialLrSchedulerConfig(0.5, 0.9), lambda o: LRS.ExponentialLR(o, 0.9), 0.5),
    "step": (StepLrSchedulerConfig(0.5, 7), lambda o: LRS.StepLR(o, 7, 0.1), 0.5),
    "step-half": (StepLrSchedulerConfig(0.5, 4).with_gamma(0.5), lambda o: LRS.StepLR(o, 4, 0.5), 0.5),
    "noam": (
        NoamLrSchedulerConfig(0.8).with_warmup_steps(10).with_model_size(64),
        lambda o: LRS.LambdaLR(o, lambda k: 0.8 * 64**-0.5 * min((k + 1) ** -0.5, (k + 1) * 10**-1.5)),
        1.0,
    ),
    "sequential": (
        SequentialLrSchedulerConfig([0.05, ExponentialLrSchedulerConfig(0.5, 0.9)], [6]),
        lambda o: LRS.SequentialLR(o, [LRS.ConstantLR(o, 0.1, 6), LRS.ExponentialLR(o, 0.9)], [6]),
        0.5,
    ),
    "warm-up": (
        WarmupLrSchedulerConfig(8, ExponentialLrSchedulerConfig(0.5, 0.9), initial_factor=0.25),
        lambda o: LRS.SequentialLR(o, [LRS.LinearLR(o, 0.25, 1.0, 8), LRS.ExponentialLR(o, 0.9)], [8]),
        0.5,
    ),
    "composed": (
        ComposedLrSchedulerConfig()
        .step(StepLrSchedulerConfig(0.5, 7))
        .exponential(ExponentialLrSchedulerConfig(1.0, 0.9)),
        lambda o: LRS.ChainedScheduler([LRS.StepLR(o, 7, 0.1), LRS.ExponentialLR(o, 0.9)]),
        0.5,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rates_are_those_of_pytorch(name: str) -> None:
    ours, make, start = PAIRS[name]
    scheduler = ours.init() if isinstance(ours, LrSchedulerConfig) else ours
    assert rates_of(scheduler) == pytest.approx(torch_rates(make, start), rel=1e-12)


def test_linear_ends_exactly_where_it_should() -> None:
    rates = rates_of(LinearLrSchedulerConfig(0.9, 0.5, 4).init(), 7)
    assert rates == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5])


def test_cosine_goes_on_after_its_iterations() -> None:
    rates = rates_of(CosineAnnealingLrSchedulerConfig(0.5, 2, min_lr=0.1).init(), 5)
    assert rates == pytest.approx([0.5, 0.3, 0.1, 0.3, 0.5])


@pytest.mark.parametrize(
    "reduction, expected",
    [(SchedulerReduction.Prod, 0.02), (SchedulerReduction.Sum, 0.3), (SchedulerReduction.Avg, 0.15)],
)
def test_composed_rates_are_reduced(reduction: Any, expected: float) -> None:
    config = ComposedLrSchedulerConfig().constant(0.1).constant(0.2).with_reduction(reduction)
    assert config.init().step() == pytest.approx(expected)


@pytest.mark.parametrize(
    "config, message",
    [
        (LinearLrSchedulerConfig(0.0, 0.1, 5), "initial_lr is above 0 and at most 1, got 0.0"),
        (LinearLrSchedulerConfig(1.5, 0.1, 5), "initial_lr is above 0 and at most 1, got 1.5"),
        (LinearLrSchedulerConfig(0.5, -0.1, 5), "final_lr is from 0 to 1, got -0.1"),
        (LinearLrSchedulerConfig(0.5, 0.1, 0), "num_iters is at least 1, got 0"),
        (CosineAnnealingLrSchedulerConfig(0.5, 5, 0.6), "min_lr is from 0 to initial_lr, 0.5, got 0.6"),
        (CosineAnnealingLrSchedulerConfig(0.5, 0), "num_iters is at least 1, got 0"),
        (ExponentialLrSchedulerConfig(0.5, 1.1), "gamma is above 0 and at most 1, got 1.1"),
        (StepLrSchedulerConfig(0.5, 0), "step_size is at least 1, got 0"),
        (NoamLrSchedulerConfig(0.1, 0), "warmup_steps is at least 1, got 0"),
        (NoamLrSchedulerConfig(0.1, model_size=0), "model_size is at least 1, got 0"),
        (SequentialLrSchedulerConfig([], []), "there is no scheduler"),
        (SequentialLrSchedulerConfig([0.1, 0.2], []), "2 schedulers need 1 milestones, got 0"),
        (SequentialLrSchedulerConfig([0.1, 0.2, 0.3], [5, 5]), r"milestones are above 0 and grow, got \[5, 5\]"),
        (SequentialLrSchedulerConfig([0.1, 0.2], [0]), r"milestones are above 0 and grow, got \[0\]"),
        (WarmupLrSchedulerConfig(0, 0.1), "num_iters is at least 1, got 0"),
        (WarmupLrSchedulerConfig(5, 0.1, 1.5), "initial_factor is from 0 to 1, got 1.5"),
    ],
)
def test_wrong_settings_are_refused(config: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"{type(config).__name__}: {message}"):
        config.init()


def test_all_wrong_settings_are_listed() -> None:
    with pytest.raises(ArgumentError, match="3 faults") as error:
        LinearLrSchedulerConfig(2.0, 2.0, 0).init()
    assert "initial_lr" in str(error.value)
    assert "num_iters" in str(error.value)


def test_odd_settings_of_step_warn() -> None:
    with pytest.warns(UserWarning, match="gamma is 2.0, not between 0 and 1"):
        scheduler = StepLrSchedulerConfig(0.5, 1).with_gamma(2.0).init()
    assert rates_of(scheduler, 3) == [0.5, 1.0, 2.0]


RECORDED = {
    "constant": (ConstantLr, [0.1], None),
    "linear": (LinearLrSchedulerConfig, [0.5, 0.1, 10], 3),
    "cosine": (CosineAnnealingLrSchedulerConfig, [0.5, 10], 7),
    "exponential": (ExponentialLrSchedulerConfig, [0.5, 0.5], 0.5 / 2**7),
    "step": (StepLrSchedulerConfig, [0.5, 3], 7),
    "noam": (NoamLrSchedulerConfig, [0.5], 8),
}


@pytest.mark.parametrize("recorder", [NamedMpkBytesRecorder(), BinBytesRecorder()], ids=["mpk", "bin"])
@pytest.mark.parametrize("name", RECORDED)
def test_a_record_is_a_bare_number_and_a_scheduler_goes_on_from_it(name: str, recorder: Any) -> None:
    kind, arguments, expected = RECORDED[name]

    def fresh() -> Any:
        made = kind(*arguments)
        return made.init() if isinstance(made, LrSchedulerConfig) else made

    first = fresh()
    rates_of(first, 8)
    record = first.to_record()
    assert record.item == expected
    again = fresh().load_record(recorder.load(recorder.record(record)))
    assert rates_of(again) == rates_of(first)


@pytest.mark.parametrize("name", ["sequential", "warm-up", "composed"])
@pytest.mark.parametrize("calls", [0, 3, 11])
def test_schedulers_of_schedulers_go_on_from_a_record(name: str, calls: int) -> None:
    config = PAIRS[name][0]
    first = config.init()
    rates_of(first, calls)
    recorder = NamedMpkBytesRecorder()
    again = config.init().load_record(recorder.load(recorder.record(first.to_record())))
    assert rates_of(again) == rates_of(first)


def test_a_record_of_a_fresh_scheduler_begins_at_the_beginning() -> None:
    for config in (CosineAnnealingLrSchedulerConfig(0.5, 10), StepLrSchedulerConfig(0.5, 3)):
        used = config.init()
        rates_of(used, 5)
        assert used.load_record(config.init().to_record()).step() == 0.5


def test_a_record_of_another_kind_is_refused() -> None:
    with pytest.raises(RecordError, match="LinearLrScheduler keeps a counter, the record has 'seven'"):
        LinearLrSchedulerConfig(0.5, 0.1, 10).init().load_record(Record("seven"))
    with pytest.raises(RecordError, match="ComposedLrScheduler has 1 schedulers, the record has 2"):
        ComposedLrSchedulerConfig().constant(0.1).init().load_record(Record([1, 2]))


def test_a_number_a_config_and_a_scheduler_stand_for_a_scheduler() -> None:
    assert as_scheduler(0.1).step() == 0.1
    assert as_scheduler(LinearLrSchedulerConfig(0.5, 0.1, 10)).step() == 0.5
    scheduler = ConstantLr(0.2)
    assert as_scheduler(scheduler) is scheduler
    with pytest.raises(ArgumentError, match="needs a number or a scheduler, got 'fast'"):
        as_scheduler("fast")


def test_a_module_scheduler_gives_rates_by_group() -> None:
    head = ParamGroup.under("head")
    scheduler = ModuleLrScheduler(0.1).with_group(head, ExponentialLrSchedulerConfig(0.5, 0.5))
    assert scheduler.step() == {ParamGroup.all(): 0.1, head: 0.5}
    record = scheduler.to_record()
    assert scheduler.step() == {ParamGroup.all(): 0.1, head: 0.25}
    assert scheduler.load_record(record).step()[head] == 0.25
    with pytest.raises(ArgumentError, match="has a scheduler already"):
        scheduler.with_group(head, 0.1)


def test_configs_of_schedulers_of_schedulers_are_written_as_json() -> None:
    config = SequentialLrSchedulerConfig(
        [WarmupLrSchedulerConfig(5, 0.1), ComposedLrSchedulerConfig().linear(LinearLrSchedulerConfig(0.5, 0.1, 3))], [7]
    )
    again = SequentialLrSchedulerConfig.from_json(config.to_json())
    assert again == config
    assert rates_of(again.init()) == rates_of(config.init())
