"""Workers: their errors, their number, and that none is left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from burn.data.dataloader import DataLoaderBuilder, LoadingError
from burn.data.dataset import InMemDataset
from burn.data.dataset.transform import MapperDataset
from burn.errors import ArgumentError
from tests.data.samples import Dying, Failing, Lists, Locks, Moody, Squares, negated, with_process


def build(dataset, workers, **options):
    builder = DataLoaderBuilder(options.pop("batcher", Lists())).batch_size(options.pop("batch_size", 4))
    builder = builder.num_workers(workers)
    for name, value in options.items():
        builder = getattr(builder, name)(value)
    return builder.build(dataset)


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [each.name for each in threading.enumerate() if each not in before and each.name.startswith("burn-loader")]
    assert left == []


def loader_threads():
    return [each for each in threading.enumerate() if each.name.startswith("burn-loader")]


@pytest.mark.parametrize("workers, name", [(0, "the calling thread"), (2, r"worker \d")])
def test_an_error_of_an_item_names_the_item_and_shows_where_it_was(workers, name):
    loader = build(Failing(50, 17), workers)
    seen = []
    with pytest.raises(LoadingError, match=rf"item 17 failed in {name}: KeyError: 'a pixel is missing'") as caught:
        seen.extend(loader)
    assert seen == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81, 100, 121], [144, 169, 196, 225]]
    assert caught.value.index == 17
    assert isinstance(caught.value.__cause__, KeyError)
    assert 'raise KeyError("a pixel is missing")' in str(caught.value)
    assert "samples.py" in str(caught.value)
    assert loader_threads() == []


def test_an_error_of_a_mapper_names_the_item_too():
    dataset = MapperDataset(InMemDataset([4, 2, 0, 1]), lambda item: 8 // item)
    with pytest.raises(LoadingError, match="item 2 failed in worker 0: ZeroDivisionError") as caught:
        list(build(dataset, 1))
    assert caught.value.index == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_a_batcher_names_the_items_of_the_batch(workers):
    def batch(items, device):
        raise StopIteration("too early")

    with pytest.raises(LoadingError, match="the batch of the items 0, 1, 2, 3 failed in .*: StopIteration: too early"):
        list(build(Squares(8), workers, batcher=batch))


@pytest.mark.parametrize("workers", [1, 4])
def test_leaving_a_loop_early_ends_the_threads(workers):
    for batch in build(Squares(10_000), workers):
        assert batch == [0, 1, 4, 9]
        assert loader_threads()
        break
    assert loader_threads() == []


def test_an_error_in_the_loop_ends_the_threads():
    def run():
        for _ in build(Squares(10_000), 2):
            raise RuntimeError("the loss is not a number")

    with pytest.raises(RuntimeError, match="the loss is not a number"):
        run()
    gc.collect()
    assert loader_threads() == []


def test_an_iterator_can_be_closed_and_is_then_at_its_end():
    with build(Squares(10_000), 2).iter() as batches:
        assert next(batches) == [0, 1, 4, 9]
    assert loader_threads() == []
    assert list(batches) == []


def test_an_iterator_that_nobody_reads_starts_no_threads():
    batches = build(Squares(100), 4).iter()
    assert loader_threads() == []
    del batches


def test_a_hundred_epochs_leave_nothing_behind():
    loader = build(Squares(40), 3, shuffle=1)
    for number in range(100):
        for batch in loader:
            if number % 2 and batch:
                break
    del batch
    assert loader_threads() == []
    assert loader.epoch == 100


def test_no_more_than_the_prefetched_batches_are_read_ahead():
    read: list[int] = []

    class Noted(Squares):
        def get(self, index):
            read.append(index)
            return super().get(index)

    batches = build(Noted(1000), 2, batch_size=1, prefetch=3).iter()
    next(batches)
    deadline = time.monotonic() + 5
    while len(read) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(read) == 4
    batches.close()


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_ctrl_c_ends_a_program_at_once(kind):
    program = textwrap.dedent(
        f"""
        import threading, time
        from burn.data.dataloader import DataLoaderBuilder
        from tests.data.samples import Lists, Slow

        if __name__ == "__main__":
            builder = DataLoaderBuilder(Lists()).batch_size(2).num_workers(2)
            loader = builder.use_processes({kind == "processes"}).build(Slow(10**6))
            try:
                for number, batch in enumerate(loader):
                    if number == 3:
                        print("running", flush=True)
            except KeyboardInterrupt:
                loader.close()
                names = [each.name for each in threading.enumerate() if each is not threading.main_thread()]
                print("stopped", names, flush=True)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    out, errors = process.communicate(timeout=60)
    assert out == "stopped []\n", errors
    assert process.returncode == 0
    assert errors == ""


def test_processes_give_the_same_batches_in_the_same_order():
    dataset = MapperDataset(Squares(30), negated)
    with build(dataset, 2, shuffle=3, use_processes=True) as loader:
        expected = build(dataset, 0, shuffle=3)
        assert [list(loader), list(loader)] == [list(expected), list(expected)]


def test_mappers_run_in_processes_of_their_own():
    with build(MapperDataset(Squares(30), with_process), 2, use_processes=True) as loader:
        pairs = [pair for batch in loader for pair in batch]
    assert [number for number, _ in pairs] == [index * index for index in range(30)]
    assert os.getpid() not in {process for _, process in pairs}


def test_an_error_in_a_process_names_the_item_and_shows_its_traceback():
    with (
        build(Failing(20, 7), 2, use_processes=True) as loader,
        pytest.raises(LoadingError, match=r"item 7 failed in worker process \d+: KeyError: 'a pixel") as caught,
    ):
        list(loader)
    assert caught.value.index == 7
    assert 'raise KeyError("a pixel is missing")' in str(caught.value)


def test_a_process_that_dies_is_an_error_and_not_a_wait():
    with (
        build(Dying(20), 2, use_processes=True) as loader,
        pytest.raises(LoadingError, match="a worker process ended before its items were there"),
    ):
        list(loader)


def test_what_cannot_be_sent_to_processes_is_refused_when_the_loader_is_built():
    with pytest.raises(ArgumentError, match="the dataset cannot be sent to processes .*not lambdas"):
        build(MapperDataset(Squares(3), lambda item: item), 2, use_processes=True)
    with pytest.raises(ArgumentError, match="use_processes needs workers"):
        build(Squares(3), 0, use_processes=True)


def test_items_that_cannot_leave_their_process_are_an_error():
    with (
        build(Locks(4), 1, use_processes=True) as loader,
        pytest.raises(LoadingError, match="items could not be brought back from a worker process: .*pickle"),
    ):
        list(loader)


def test_an_error_that_belongs_to_no_single_item_names_them_all():
    with pytest.raises(LoadingError, match="the batch of the items 0, 1, 2, 3 failed .* OSError: too many at once"):
        list(build(Moody(8), 0))


def test_a_program_that_forgets_its_processes_ends_cleanly():
    program = textwrap.dedent(
        """
        from burn.data.dataloader import DataLoaderBuilder
        from tests.data.samples import Lists, Squares

        if __name__ == "__main__":
            loader = DataLoaderBuilder(Lists()).batch_size(2).num_workers(2).use_processes().build(Squares(1000))
            for batch in loader:
                break
            print("the end", batch)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end [0, 1]\n", "")
