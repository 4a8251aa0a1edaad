"""Settings of the device's checks of its own memory while it runs: guards, and a CRC-32 of the constants."""

from __future__ import annotations

from dataclasses import dataclass

GUARD_BYTES = 16
"""Bytes of each guard, TFLMGEN_GUARD of checks.h. The guard behind an arena belongs to the bytes that it takes."""


@dataclass(frozen=True, slots=True)
class DeviceChecks:
    """Checks in the generated C.

    memory   guard bytes before and behind arena and state, compared at the end of each invoke
    weights  when the CRC-32 of all constants in flash is compared: "start", at the first invoke, "invoke", at each, or
             "off"
    """

    memory: bool = False
    weights: str = "off"

    @property
    def has_any(self) -> bool:
        """Whether the generated C contains any check."""
        return self.memory or self.weights != "off"


NO_CHECKS = DeviceChecks()
