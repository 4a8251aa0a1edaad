"""Shows that the checks of the device's memory in the generated C are those that the user asked for.

Guards lie at both ends of arena and state and are set before they are compared; the CRC-32 is that of every array of
constants, as zlib computes it from the parsed text; each invoke has both where it should.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.ir import GUARD_BYTES, DeviceChecks
from tflmgen.ir.program import Program
from tflmgen.proof.c_syntax import Node, words_of

_DECLARED = re.compile(r"\b(?:guards|has_guards|constants|has_intact_constants)\b")
_DEFINED = re.compile(r"^#define ((?:KEEPS_GUARDS|CONSTANTS_CRC)\b.*)$", re.MULTILINE)
_INTACT = "tflmgen_are_guards_intact ( guards , sizeof guards / sizeof guards [ 0 ] )"
_BEFORE, _BEHIND = "TFLMGEN_GUARD_BEFORE", "TFLMGEN_GUARD"


@dataclass(frozen=True, slots=True)
class FaultText:
    """Text that the C must have for the checks. arrays: constants of the C by name, (type, bytes)."""

    checks: DeviceChecks
    program: Program
    arrays: Mapping[str, tuple[str, bytes]]
    has_arena: bool

    @property
    def has_guards(self) -> bool:
        """Whether there are guard bytes: asked for, and with an arena or state to guard."""
        return self.checks.memory and (self.has_arena or self.program.state_bytes > 0)

    @property
    def guard_bytes(self) -> int:
        """Bytes of each guard."""
        return GUARD_BYTES

    @property
    def has_crc(self) -> bool:
        """Whether checksums are compared: asked for, and with constants to check."""
        return self.checks.weights != "off" and bool(self.arrays)

    def array(self, name: str) -> str:
        """Address of the arena's or the state's first byte, as C."""
        return f"{name} + {_BEFORE}" if self.has_guards else name

    def bytes(self, count: int) -> str:
        """Size in bytes of an array of `count`, as C."""
        return f"{_BEFORE} + {count} + {_BEHIND}" if self.has_guards else str(count)

    def check_declarations(self, declarations: Sequence[Node], plan: str) -> None:
        """Raises ValueError where guards lie elsewhere, or the CRC is not that of all constants."""
        written = [words for words in map(words_of, declarations) if _DECLARED.search(words)]
        wanted = self._guards() if self.has_guards else []
        defined = ["KEEPS_GUARDS false", "KEEPS_GUARDS true"] if self.has_guards else []
        if self.has_crc:
            listed = " , ".join(f"{{ {name} , {len(data)} }}" for name, (_, data) in self.arrays.items())
            wanted.append(f"static const tflmgen_constant constants [ ] = {{ {listed} , }} ;")
            wanted += ["static bool has_intact_constants ;"] * (self.checks.weights == "start")
            defined.append(f"CONSTANTS_CRC 0x{zlib.crc32(b''.join(data for _, data in self.arrays.values())):08X}u")
        if written != wanted:
            raise ValueError("guards or constants that are checked are not all of them")
        if [match.strip() for match in _DEFINED.findall(plan)] != defined:
            raise ValueError("the CRC of the constants is another one")

    def _guards(self) -> list[str]:
        arena, state = self.program.arena_bytes, self.program.state_bytes
        of_state = [f"state + {_BEFORE} - {_BEHIND}", f"state + {_BEFORE} + {state}"] if state else []
        shared, own = [], []
        if self.has_arena:
            shared = [f"tflmgen_shared_arena + {arena}"]
            own = [f"arena + {_BEFORE} - {_BEHIND}", f"arena + {_BEFORE} + {arena}"]
        lists = [f"static uint8_t * const guards [ ] = {{ {' , '.join([*a, *of_state])} , }} ;" for a in (shared, own)]
        return [*lists, "static bool has_guards ;"]

    @property
    def _crc(self) -> str:
        return f"tflmgen_crc32 ( constants , {len(self.arrays)} )"

    @property
    def before_invoke(self) -> list[str]:
        """The first statements of an invoke."""
        statements = []
        if self.has_crc and self.checks.weights == "start":
            statements.append(
                f"if ( ! has_intact_constants ) {{ has_intact_constants = {self._crc} == CONSTANTS_CRC ; "
                "if ( ! has_intact_constants ) { return TFLMGEN_ERROR_WEIGHTS ; } }"
            )
        if self.has_crc and self.checks.weights == "invoke":
            statements.append(f"if ( {self._crc} != CONSTANTS_CRC ) {{ return TFLMGEN_ERROR_WEIGHTS ; }}")
        if self.has_guards:
            statements.append(
                "if ( ! has_guards ) { tflmgen_set_guards ( guards , sizeof guards / sizeof guards [ 0 ] ) ; "
                "has_guards = KEEPS_GUARDS ; }"
            )
        return statements

    @property
    def after_invoke(self) -> list[str]:
        """Checks of an invoke when it has run."""
        return [f"if ( ! {_INTACT} ) {{ return TFLMGEN_ERROR_MEMORY ; }}"] if self.has_guards else []

    @property
    def resets(self) -> list[str]:
        """Statements of a reset beside the state: guards are set anew, and constants compared again."""
        starts = self.has_crc and self.checks.weights == "start"
        return ["has_guards = false ;"] * self.has_guards + ["has_intact_constants = false ;"] * starts

    @property
    def own_function(self) -> list[str] | None:
        """The statements of NAME_check(); None where there is none."""
        if not self.checks.has_any:
            return None
        guards = [f"if ( has_guards && ! {_INTACT} ) {{ return TFLMGEN_ERROR_MEMORY ; }}"] * self.has_guards
        crc = [f"if ( {self._crc} != CONSTANTS_CRC ) {{ return TFLMGEN_ERROR_WEIGHTS ; }}"] * self.has_crc
        return [*guards, *crc, "return TFLMGEN_OK ;"]
