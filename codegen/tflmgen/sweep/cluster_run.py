"""A sweep on Dask distributed: its scheduler hands tasks to workers, this process writes rows as they come."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from multiprocessing import resource_tracker
from typing import Any

from tflmgen.errors import UsageError
from tflmgen.sweep.result_table import SCRATCH, ResultTable, folder_at, require_packages
from tflmgen.sweep.sweep_task import Row, Status, Task
from tflmgen.sweep.task_process import TaskProcess

WAITING_PER_THREAD = 4
"""Batches that the scheduler knows per thread of the workers: enough that none waits, few to hold for 10^6 tasks."""

BATCH_SECONDS, BATCH_TASKS = 1.0, 16
"""A worker gets so many tasks at a time as take about a second, since Dask's own work for a batch is that for a task.
Those that it has not begun after this time it gives back."""

ROWS_PER_FILE, SECONDS_PER_FILE = 512, 5.0
"""Rows wait this long at most before a file is written: what a killed sweep computes again."""

_SETTINGS = {
    "logging.distributed": "critical",
    # Workers wait for processes of their own: samples of their stacks every 10 ms would say nothing and cost CPU time.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    # Timers of each process took 4.5 % of a core, measured with one idle worker; so they take 0.9 %.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""Dask's settings of a cluster here."""

SECONDS_PER_LOOK = 5.0
"""Interval at which the scheduler is asked for its number of threads: workers come and go."""

_LOCAL = threading.local()


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: wall-clock time of a task; memory_bytes: address space of its process, 0: any."""

    seconds: float = 300.0
    memory_bytes: int = 0


@dataclass
class SweepSummary:
    """Counts of a finished sweep.

    total        tasks of the sweep, and how many of them earlier runs `had`
    statuses     status -> rows of this run
    per_worker   worker -> rows, CPU seconds
    """

    total: int
    had: int
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    rows_per_worker: Counter[str] = field(default_factory=Counter)
    cpu_per_worker: dict[str, float] = field(default_factory=dict)
    dashboard: str = ""

    @property
    def done(self) -> int:
        """Rows that have arrived, whatever their status."""
        return sum(self.statuses.values())

    def add(self, row: Row) -> None:
        """Counts a row under its status and its worker."""
        self.statuses[row["status"]] += 1
        self.rows_per_worker[row["worker"]] += 1
        spent = self.cpu_per_worker.get(row["worker"], 0.0)
        self.cpu_per_worker[row["worker"]] = spent + (row["cpu_seconds"] or 0.0)


Report = Callable[[SweepSummary], None]


def run_sweep(
    tasks: Iterable[Task],
    results: str,
    *,
    scheduler: str = "",
    workers: int = 1,
    cache: str = "",
    limits: Limits = Limits(),
    report: Report = lambda _: None,
) -> SweepSummary:
    """Computes the rows that `results` lacks, and adds them there.

    Args:
        scheduler: Address of a Dask scheduler, `tcp://host:8786`; empty: a cluster of `workers` processes here.
        cache: Folder or fsspec URL of figures by content; empty: none.
        report: Called after each row.

    Raises UsageError if `scheduler` is no address, and OSError if no scheduler answers there.
    """
    require_packages("dask", "distributed", "pyarrow", "fsspec")
    table = ResultTable(results)
    if cache:
        folder_at(cache)
    began = time.monotonic()
    with table.exclusive():
        present, wanted = table.task_ids(), list(tasks)
        missing = [task for task in wanted if task.id not in present]
        summary = SweepSummary(len(wanted), len(wanted) - len(missing))
        if missing:
            with _client(scheduler, min(workers, len(missing)), table) as client, _Writer(table) as writer:
                summary.dashboard = client.dashboard_link if find_spec("bokeh") else ""
                scratch = "" if scheduler or not table.is_local else str((table.root / SCRATCH).resolve())
                for row in _rows(client, missing, (scratch, limits, cache)):
                    writer.add(row)
                    summary.add(row)
                    summary.seconds = time.monotonic() - began
                    report(summary)
    return summary


@contextmanager
def _client(scheduler: str, workers: int, table: ResultTable) -> Iterator[Any]:
    """A client of the scheduler, or of a cluster of its own whose files are gone afterwards."""
    distributed: Any = import_module("distributed")
    dask: Any = import_module("dask")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        if scheduler:
            try:
                client = distributed.Client(scheduler)
            except ValueError as error:
                raise UsageError(
                    f"--scheduler {scheduler}: {error}; requires an address such as tcp://host:8786"
                ) from None
            yield stack.enter_context(client)
            return
        folder = table.root / SCRATCH if table.is_local else None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)  # of a sweep that was killed
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with _children_without_ctrl_c():
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # with None, a port that all sweeps would want
                local_directory=None if folder is None else str(folder),
                silence_logs="CRITICAL",
            )
        yield stack.enter_context(distributed.Client(stack.enter_context(cluster)))


@contextmanager
def _children_without_ctrl_c() -> Iterator[None]:
    """Keeps the terminal's Ctrl-C from processes that the body starts: this process gets it, and ends its workers.

    Threads and processes inherit the mask of signals. multiprocessing's tracker, as it starts, unblocks what it can:
    it is started before.
    """
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _rows(client: Any, tasks: list[Task], settings: tuple[str, Limits, str]) -> Iterator[Row]:
    """Rows as they come. Few batches wait at the scheduler at a time; one whose workers die is tried again there."""
    distributed: Any = import_module("distributed")
    queue, numbers = TaskQueue(tasks), count()
    of: dict[str, list[Task]] = {}

    def submit(number: int) -> list[Any]:
        futures = []
        for batch in queue.batches(number, WAITING_PER_THREAD * threads):
            key = f"tflmgen-{client.id}-{next(numbers)}"
            future = client.submit(_evaluate, batch, settings, key=key, pure=False)
            of[future.key] = batch
            futures.append(future)
        return futures

    threads, looked = sum(client.nthreads().values()) or 1, time.monotonic()
    completed = distributed.as_completed(submit(WAITING_PER_THREAD * threads))
    for future in completed:
        batch = of.pop(future.key)
        if future.status == "finished":
            rows = future.result()
            queue.back(batch[len(rows) :], rows)
            yield from rows
        elif len(batch) > 1:
            queue.alone(batch)
        else:
            problem = f"its worker ended: {type(future.exception()).__name__}"
            yield batch[0].start_of_row | {"status": Status.CRASHED.value, "problem": problem, "worker": ""}
        if time.monotonic() - looked > SECONDS_PER_LOOK:
            threads, looked = sum(client.nthreads().values()) or threads, time.monotonic()
        for added in submit(max(0, WAITING_PER_THREAD * threads - len(of))):
            completed.add(added)


class TaskQueue:
    """Tasks that no worker has, and how many of them take about BATCH_SECONDS."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._waiting, self._alone = deque(tasks), deque[Task]()
        self._rows, self._seconds = 0, 0.0

    def batches(self, number: int, share: int) -> Iterator[list[Task]]:
        """Takes at most `number` batches off the queue, none larger than a `share`-th of the tasks that wait."""
        for _ in range(number):
            if not self._waiting and not self._alone:
                return
            if self._alone:
                yield [self._alone.popleft()]
                continue
            affordable = int(BATCH_SECONDS * self._rows / max(self._seconds, 1e-9))
            size = max(1, min(affordable, BATCH_TASKS, -(-len(self._waiting) // share)))
            yield [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]

    def back(self, tasks: Sequence[Task], rows: Sequence[Row]) -> None:
        """Takes tasks that a worker has not begun, and what its rows took."""
        self._waiting.extendleft(reversed(tasks))
        self._rows += len(rows)
        self._seconds += sum(row["seconds"] or 0.0 for row in rows)

    def alone(self, tasks: Sequence[Task]) -> None:
        """Takes tasks of which one may have ended its workers: each becomes a batch."""
        self._alone.extend(tasks)


def _evaluate(batch: list[Task], settings: tuple[str, Limits, str]) -> list[Row]:
    """Evaluates, on a worker, the first tasks of a batch in the process that this thread keeps; returns their rows."""
    scratch, limits, cache = settings
    kept: tuple[object, TaskProcess] | None = getattr(_LOCAL, "process", None)
    if kept is None or kept[0] != settings:
        if kept is not None:
            kept[1].close()
        kept = settings, TaskProcess(scratch, limits.memory_bytes, cache)
        _LOCAL.process = kept
    distributed: Any = import_module("distributed")
    worker, began, rows = str(distributed.get_worker().address), time.monotonic(), []
    for task in batch:
        rows.append(kept[1].evaluate(task, limits.seconds) | {"worker": worker})
        if time.monotonic() - began > BATCH_SECONDS:
            break
    return rows


class _Writer:
    """Rows on their way to files."""

    def __init__(self, table: ResultTable) -> None:
        self._table = table
        self._rows: list[Row] = []
        self._since = time.monotonic()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_FILE or time.monotonic() - self._since > SECONDS_PER_FILE:
            self._write()

    def _write(self) -> None:
        if self._rows:
            self._table.append(self._rows)
        self._rows, self._since = [], time.monotonic()
