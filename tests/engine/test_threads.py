"""Plans in several threads: matrix products and kernels give the same results whoever runs them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import burn
from burn import Cpu
from burn.backend.cpu.pool import share
from burn.tensor import activation, module


def test_matrix_products_run_in_any_thread():
    device = Cpu()
    generator = np.random.default_rng(0)
    left = [generator.normal(size=(64, 96)).astype(np.float32) for _ in range(4)]
    right = generator.normal(size=(96, 80)).astype(np.float32)
    failures: list[int] = []

    def work(index):
        for _ in range(30):
            x, y = burn.tensor(left[index], device=device), burn.tensor(right, device=device)
            got = activation.relu(x.matmul(y) * 0.5).numpy()
            if not np.allclose(got, np.maximum(left[index] @ right * 0.5, 0), rtol=1e-4, atol=1e-4):
                failures.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    assert failures == []


def computed(device: Cpu) -> list[np.ndarray]:
    """Products of every depth, sums along each dim, a softmax and convolutions in several forms."""
    generator = np.random.default_rng(1)

    def drawn(*shape: int) -> Any:
        return burn.tensor(generator.normal(size=shape).astype(np.float32), device=device)

    x = drawn(300, 700)
    results = [activation.softmax(x, 1), x.sum_dim(0), x.sum_dim(1), x.sum(), x.exp().mean()]
    for rows, depth, columns in ((4, 5000, 8), (64, 3000, 64), (300, 200, 300), (1, 4096, 500), (7, 777, 33)):
        results.append(drawn(rows, depth).matmul(drawn(depth, columns)))
    for image, weight in (((1, 32, 28, 28), (64, 32, 3, 3)), ((2, 16, 20, 20), (32, 16, 1, 1))):
        results.append(module.conv2d(drawn(*image), drawn(*weight)))
    return [each.numpy() for each in results]


def test_results_depend_neither_on_the_number_of_threads_nor_on_who_took_what():
    device = Cpu()
    before = burn.get_num_threads()
    try:
        burn.set_num_threads(1)
        expected = computed(device)
        for count in (2, 3, 16, 2):
            burn.set_num_threads(count)
            for mine, other in zip(computed(device), expected, strict=True):
                np.testing.assert_array_equal(mine, other)
    finally:
        burn.set_num_threads(before)


def test_threads_with_shares_of_their_own_compute_at_once():
    """Each with plans for its own number of threads, of the same programs."""
    expected, wrong = computed(Cpu()), []

    def work(count: int) -> None:
        with share(count):
            for _ in range(3):
                for mine, other in zip(computed(Cpu()), expected, strict=True):
                    if not np.array_equal(mine, other):
                        wrong.append(count)

    threads = [threading.Thread(target=work, args=(count,)) for count in (1, 2, 3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_a_capture_follows_the_number_of_threads():
    device = Cpu()
    captured = burn.compile(lambda x: x.matmul(x.transpose()).exp().sum_dim(1))
    values = (np.random.default_rng(2).normal(size=(70, 50)) * 0.1).astype(np.float32)
    expected = np.exp(values @ values.T).sum(1, keepdims=True)
    before = burn.get_num_threads()
    try:
        for count in (2, 2, 2, 1, 3, 2):
            burn.set_num_threads(count)
            got = captured(burn.tensor(values, device=device)).numpy()
            np.testing.assert_allclose(got, expected, rtol=1e-4)
    finally:
        burn.set_num_threads(before)
