"""A fixed sample of the random tests: the same seeds each time, in a process of their own.

`python -m tests.fuzz` tries as many as there is time for; `docs/contributing/random_tests.md` says how.
"""

from __future__ import annotations

import pytest

from burn.backend.cpu.features import runnable
from tests.fuzz.results import Result, Results, summary
from tests.fuzz.workers import Settings, try_seeds

SAMPLE = {"networks": 12, "programs": 100, "layers": 50, "onnx": 40, "stored": 25}
FIRST = 1_000_000
"""Seeds of the sample lie apart from those of long runs, so that these try others."""


@pytest.mark.parametrize("features", [name for name in ("avx512", "avx2", "baseline") if name in runnable()])
@pytest.mark.parametrize("kind", SAMPLE)
def test_a_sample_of_seeds_passes(kind: str, features: str) -> None:
    found: list[Result] = []
    try_seeds(Settings(kind, features), range(FIRST, FIRST + SAMPLE[kind]), 1, found.append)
    assert sorted(each.seed for each in found) == list(range(FIRST, FIRST + SAMPLE[kind]))
    assert not [f"seed {each.seed}: {each.failure}" for each in found if each.failure]


def test_results_are_remembered_and_a_cut_line_is_not(tmp_path) -> None:
    results = Results(tmp_path / "results.jsonl")
    assert results.passed("networks", "best", False) == set()
    results.add(Result("networks", 1, "best", "abc", 0.5))
    results.add(Result("networks", 2, "best", "abc", 0.5, "wrong"))
    with results.path.open("a") as file:  # type: ignore[union-attr]
        file.write('{"kind": "networks", "seed": 3')
    assert results.passed("networks", "best", True) == {1}
    assert results.passed("networks", "best", False) == set()
    assert "| networks | best | 1 to 2 | 1 | 1 (2) | 0.500 |" in summary(results.read())


def test_a_process_that_dies_or_hangs_fails_its_seed_alone(monkeypatch, tmp_path) -> None:
    (tmp_path / "faulty.py").write_text(
        "import os, time\n"
        "def check(seed):\n"
        "    if seed == 1: os.kill(os.getpid(), 11)\n"
        "    if seed == 2: time.sleep(60)\n"
        "    return 'wrong' if seed == 3 else None\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}", prepend=":")
    found: list[Result] = []
    try_seeds(Settings("faulty", patience=5.0), range(5), 1, found.append)
    answers = {each.seed: each.failure for each in found}
    assert answers == {0: "", 1: "the process ended with SIGSEGV", 2: "no answer within 5 s", 3: "wrong", 4: ""}
