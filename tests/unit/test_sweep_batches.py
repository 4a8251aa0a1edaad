"""Batches of a sweep: as many tasks as take about a second, those that a worker gave back first, suspects alone."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from tflmgen.errors import ModelError
from tflmgen.options import Measured
from tflmgen.sweep import Candidate, Task, read_space, tasks_of
from tflmgen.sweep.cluster_run import BATCH_SECONDS, BATCH_TASKS, TaskQueue


def _tasks(number: int) -> list[Task]:
    candidates = (Candidate(f"m{i}.tflite", {}, b"%d" % i) for i in range(number))
    return list(tasks_of(candidates, ["microbit"], [{}], Measured.ESTIMATE))


def _sizes(queue: TaskQueue, share: int) -> list[int]:
    return [len(batch) for batch in queue.batches(10, share)]


def _rows(seconds: float, number: int = 1) -> list[dict[str, float]]:
    return [{"seconds": seconds}] * number


def test_batches_follow_what_rows_take() -> None:
    queue = TaskQueue(_tasks(200))
    assert _sizes(queue, 8) == [1] * 10, "nothing is known yet"
    queue.back([], _rows(BATCH_SECONDS / 4))
    assert _sizes(queue, 8) == [4] * 10
    queue.back([], _rows(BATCH_SECONDS / 1000, 100))
    assert max(_sizes(queue, 8)) == BATCH_TASKS
    queue.back([], _rows(60.0))
    assert max(_sizes(queue, 8)) == 1


def test_the_last_tasks_are_shared_by_the_workers() -> None:
    queue = TaskQueue(_tasks(16))
    queue.back([], _rows(BATCH_SECONDS / 1000, 100))
    assert _sizes(queue, 8)[:8] == [2, 2, 2, 2, 1, 1, 1, 1]


def test_every_task_comes_once_in_order_and_alone_where_a_worker_ended() -> None:
    tasks = _tasks(9)
    queue = TaskQueue(tasks)
    queue.back([], _rows(BATCH_SECONDS / 1000, 100))
    (first,) = islice(queue.batches(1, 2), 1)
    assert first == tasks[:5]
    queue.back(first[2:], _rows(0.1, 2))
    assert [*queue.batches(1, 1)] == [tasks[2:]]
    queue.alone(tasks[2:4])
    assert [*queue.batches(9, 1)] == [[tasks[2]], [tasks[3]]]
    assert not [*queue.batches(1, 1)]


def test_a_function_of_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file"):
        read_space([tmp_path / "net.py:make"])


def test_a_function_of_pytorch_is_a_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    source = tmp_path / "net.py"
    source.write_text(
        "import torch\ndef make():\n    return torch.nn.Sequential(torch.nn.Linear(8, 4)), (torch.zeros(1, 8),)\n",
        encoding="utf-8",
    )
    (candidate,) = read_space([tmp_path / "net.py:make"]).candidates
    assert (candidate.label, candidate.suffix, candidate.data[4:8]) == ("net.py:make", ".tflite", b"TFL3")
