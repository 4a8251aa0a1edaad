"""A watcher of an observed build that looks at nothing, where only outputs count."""

from __future__ import annotations

from tflmgen.frontend import TensorKey


class SilentWatcher:
    """Wants no tensor's values."""

    def wants(self, tensor: TensorKey) -> bool:
        del tensor
        return False

    def tensor(self, tensor: TensorKey, value: object) -> None:
        raise AssertionError((tensor, value))

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        del event, operator
