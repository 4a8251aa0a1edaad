"""What an application's calls take: a table of its stages, and lines about a second of samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tflmgen.terminal import Column, Console, Table, count

STAGES = (
    Column("stage", min_width=8),
    Column("ran", numeric=True),
    Column("instructions", numeric=True),
    Column("cycles", numeric=True),
    Column("%", numeric=True),
)
_DUTIES = (("typical", "typically"), ("mean", "on average"), ("worst", "at most"))


def print_application(console: Console, report: Mapping[str, Any]) -> None:
    """The stages in the file's order; nothing for other models."""
    application = report["application"]
    if application is None:
        return
    rows = [
        (
            stage["name"],
            "" if stage["runs"] is None else count(stage["runs"]),
            count(stage["instructions"]),
            count(stage["cycles_estimated"]) if stage["cycles_estimated"] else "",
            f"{100 * stage['share']:.1f}",
        )
        for stage in application["stages"]
    ]
    console.table(Table(f"Stages in {count(application['calls'])} calls", STAGES, rows))
    for line in application_lines(application):
        console.line(line)


def application_lines(application: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about a second of samples."""
    if application["instructions_per_second"] is not None:
        yield f"{count(application['instructions_per_second'])} instructions per second of samples."
    if duty := application["duty"]:
        parts = ", ".join(f"{words} {duty[name]:.2%}" for name, words in _DUTIES)
        yield f"Of a period of {1000 * application['period_s']:g} ms the processor computes, estimated: {parts}."
    if energy := application["energy"]:
        yield (
            f"Estimate at {energy['active_ma']:g} mA computing, {energy['idle_ma']:g} mA waiting and "
            f"{energy['volts']:g} V: {energy['mean_ma']:.4g} mA on average, "
            f"{energy['millijoules_per_second']:.4g} mJ per second of samples."
        )
