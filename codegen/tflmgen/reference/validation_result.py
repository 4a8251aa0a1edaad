"""Effort and result of a validation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Bounds of a validation: input sets of each signature, and at most as much work as takes a desktop-class machine
    these seconds of CPU, by an estimate that no clock has a part in.

    patience  seconds of CPU after which the clock ends the validation, for machines on which the work takes far longer
    """

    sets: int
    seconds: float
    patience: float = 20.0


EFFORTS = {"quick": Effort(12, 1.0, 20.0), "full": Effort(120, 120.0, 600.0)}
"""A set of a model of 8 million multiply-accumulates takes about 0.04 s."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Result of a validation: how it went, and how much of the model it covered.

    sets         how many input sets were to be run, for each signature
    equal        how many ran and were equal
    undefined    how many have no outputs: the model reports an error, or a shape from the run time is none it may have
    undecided    how many differ by no more than the file's own outputs if its operators round otherwise
    cut          how many were given up since they ran long
    over_budget  whether the work that the effort admits was done before all sets had run
    out_of_time  whether the clock ended it on a slow machine, before the work was done
    unsupported  what is not evaluated, "CUSTOM:Foo"; no set has run then
    branches     sides of Ifs, Cases and Whiles that were taken, and how many there are
    """

    sets: int
    equal: int = 0
    undefined: int = 0
    undecided: int = 0
    cut: int = 0
    over_budget: bool = False
    out_of_time: bool = False
    unsupported: str = ""
    branches: tuple[int, int] = (0, 0)

    @property
    def is_complete(self) -> bool:
        """Whether the same would be found again, however fast the machine is."""
        return not self.out_of_time

    @property
    def warning(self) -> str:
        """A sentence where nothing was compared, since every set runs long; else nothing."""
        if self.equal or self.undecided or not (self.cut or self.over_budget or self.out_of_time):
            return ""
        return "no input set ran to its end, so that no output was compared: --validate full takes longer"

    @property
    def text(self) -> str:
        """The result as text for people: "12 input sets equal, 6 of 6 branches taken"."""
        if self.unsupported:
            return f"not validated: {self.unsupported} is not evaluated"
        share = f"{self.equal} of {self.sets}" if self.equal < self.sets else f"{self.equal}"
        words = [f"{share} input set{'s' if self.sets != 1 else ''} equal"]
        words += [f"{self.undefined} end with an error of the model"] if self.undefined else []
        words += [f"{self.undecided} undecided: rounding decides"] if self.undecided else []
        words += [f"{self.cut} cut: they run long"] if self.cut else []
        words += ["budget"] if self.over_budget else []
        words += ["ended by the clock: this machine is slow"] if self.out_of_time else []
        taken, count = self.branches
        words += [f"{taken} of {count} branches taken"] if count else []
        return ", ".join(words)
