"""A Renode platform description of a board, from what its board.json says of core, memories and UART."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UART = "uart0"
"""The UART's name in the description."""

UARTS = {
    "cmsdk": ("UART.CMSDK_APB_UART", "frequency: {clock}"),
    "stm32v1": ("UART.STM32_UART", ""),
    "stm32v2": ("UART.STM32F7_USART", "frequency: {clock}"),
    "stm32_lpuart": ("UART.STM32F7_USART", "frequency: {clock}"),
    "nrf51": ("UART.NRF52840_UART", "easyDMA: false"),
    "nrf_uarte": ("UART.NRF52840_UART", "easyDMA: true"),
    "pl011": ("UART.PL011", ""),
}
"""UART driver -> Renode's class for the peripheral, as of 1.16.1, and its attribute."""

CPU_TYPES = {"cortex-m0plus": "cortex-m0+", "cortex-m1": "cortex-m0"}
"""GCC's name of a core -> Renode's, where it is another."""

WITHOUT_DWT = frozenset({"cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23"})
"""Cores without the cycle counter that firmware reads."""

PAGE = 0x1000
"""Bytes of which Renode's mapped memories are multiples."""


def platform_description(data: Mapping[str, Any], memories: Mapping[str, tuple[int, int]]) -> str | None:
    """The text of a .repl; None where Renode has no such UART, or start-up waits for registers that nothing models.

    data      contents of a board.json
    memories  name -> origin and bytes
    """
    uart, core = data["uart"], data["core"].partition("+")[0]
    if uart["driver"] not in UARTS or any("wait" in register for register in uart.get("setup", ())):
        return None
    clock = data.get("clock", uart["clock"])
    kind, attribute = UARTS[uart["driver"]]
    parts = [
        f"nvic: IRQControllers.NVIC @ sysbus 0xE000E000\n    priorityMask: 0xE0\n    systickFrequency: {clock}\n"
        "    IRQ -> cpu@0",
        f'cpu: CPU.CortexM @ sysbus\n    cpuType: "{CPU_TYPES.get(core, core)}"\n    nvic: nvic\n'
        f"    PerformanceInMips: {max(1, clock // 1_000_000)}",
    ]
    if core not in WITHOUT_DWT:
        parts.append(f"dwt: Miscellaneous.DWT @ sysbus 0xE0001000\n    frequency: {clock}")
    for name, (origin, size) in memories.items():
        mapped = -(-size // PAGE) * PAGE
        parts.append(f"{name.lower()}_memory: Memory.MappedMemory @ sysbus 0x{origin:08X}\n    size: 0x{mapped:X}")
    described = f"{UART}: {kind} @ sysbus {uart['base']}"
    parts.append(described + (f"\n    {attribute.format(clock=uart['clock'])}" if attribute else ""))
    return "\n\n".join(parts) + "\n"
