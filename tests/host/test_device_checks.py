"""Checks of the device's memory: guards beside arena and state, and the CRC-32 of the constants in flash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.c_program import run_c
from support.model_writer import ModelWriter
from support.repository import ROOT
from support.tiny_graphs import sum_model
from tflmgen.backend import Sources
from tflmgen.compiler import Compilation, check_sources, compile_model
from tflmgen.errors import InternalError
from tflmgen.ir import DeviceChecks
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, CheckWeights

INCLUDES = "#include <stdio.h>\n#include <string.h>\n"
GATE = ROOT / "examples" / "gate.tflite"
BOTH = BuildOptions("m", check_memory=True, check_weights=CheckWeights.INVOKE)


def compiled(folder: Path, options: BuildOptions, data: bytes | None = None) -> Compilation:
    path = folder / "m.tflite"
    path.write_bytes(GATE.read_bytes() if data is None else data)
    return compile_model(path, Target("host"), options)


def with_access(sources: Sources, name: str, place: str) -> dict[str, str]:
    """The library with a function `name` behind the plan that returns such a place of number i."""
    access = f"\nvoid *{name}(int i);\nvoid *{name}(int i) {{ return {place}; }}\n"
    return {**sources.files, "src/m.c": sources.files["src/m.c"] + access}


def copying_model(constant_only: bool = False) -> bytes:
    """y = -x of 16 bytes; or a constant as the only output."""
    w = ModelWriter()
    g = w.subgraph("main")
    if constant_only:
        g.outputs = [g.constant("nothing", np.zeros(0, np.float32))]
    else:
        g.inputs, g.outputs = [g.tensor("x", "float32", [4])], [g.tensor("y", "float32", [4])]
        g.operator("NEG", g.inputs, g.outputs)
    return w.finish()


def test_nans_of_any_sign_and_payload_are_intact_constants(tmp_path: Path) -> None:
    """x86 makes negative ones of 0 / 0; C has one NAN."""
    w = ModelWriter()
    g = w.subgraph("main")
    nans = np.array([0xFFC00000, 0x7FC00001, 0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    g.inputs, g.outputs = [g.tensor("x", "float32", [4])], [g.tensor("y", "float32", [4])]
    g.operator("ADD", [g.inputs[0], g.constant("nans", nans)], g.outputs, {})
    compilation = compiled(tmp_path, BOTH, w.finish())
    main = """
        #include "m.h"
        int main(void)
        {
            printf("%d %d", m_check(), m_invoke());
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compilation.sources, tmp_path) == "0 0"


def test_a_spoiled_guard_is_an_error_until_a_reset(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, BuildOptions("m", check_memory=True), sum_model())
    main = """
        #include "m.h"
        void *guard(int i);
        int main(void)
        {
            printf("%d %d ", m_check(), m_invoke());
            for (int g = 0; g < 4; ++g) {
                for (int i = 0; i < 16; i += 15) {
                    ((uint8_t *)guard(g))[i] ^= 1;
                    printf("%d %d %d ", m_check(), m_invoke(), m_invoke());
                    m_reset();
                    printf("%d %d%s", m_check(), m_invoke(), i == 0 ? ", " : "; ");
                }
            }
            return 0;
        }
    """
    sources = replace(compilation.sources, files=with_access(compilation.sources, "guard", "guards[i]"))
    assert run_c(INCLUDES + main, sources, tmp_path) == "0 0 " + 4 * "6 6 6 0 0, 6 6 6 0 0; "


def test_a_row_too_many_into_an_input_is_an_error(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, BuildOptions("m", check_memory=True), copying_model())
    main = """
        #include "m.h"
        int main(void)
        {
            memset(m_input(), 1, M_INPUT_BYTES);
            printf("%d ", m_invoke());
            memset(m_input(), 1, M_INPUT_BYTES + 1);
            printf("%d", m_invoke());
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compilation.sources, tmp_path) == "0 6"


@pytest.mark.parametrize(("when", "statuses"), [("start", "0 0 7 0 0 7 7 7 7 "), ("invoke", "0 0 7 7 7 7 7 7 7 ")])
def test_a_changed_constant_is_an_error(when: str, statuses: str, tmp_path: Path) -> None:
    """The byte is in a page that the program makes writable, as a bit that tips over in flash would be."""
    compilation = compiled(tmp_path, BuildOptions("m", check_weights=CheckWeights(when)))
    main = """
        #include <sys/mman.h>
        #include <unistd.h>
        #include "m.h"
        void *constant(int i);
        int main(void)
        {
            uint8_t *const byte = (uint8_t *)constant(6) + 1000;
            const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            void *const begin = (void *)((uintptr_t)byte & ~(page - 1));
            if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) {
                return 1;
            }
            printf("%d %d ", m_invoke(), m_check());
            *byte ^= 0x10;
            printf("%d %d %d ", m_check(), m_invoke(), m_invoke());
            m_reset();
            printf("%d %d %d %d ", m_check(), m_invoke(), m_invoke(), m_check());
            return 0;
        }
    """
    files = with_access(compilation.sources, "constant", "(void *)(uintptr_t)constants[i].data")
    sources = replace(compilation.sources, files=files)
    assert run_c(INCLUDES + main, sources, tmp_path, ["-D_GNU_SOURCE"]) == statuses


def test_models_with_checks_share_an_arena(tmp_path: Path) -> None:
    """The guard behind it is of the model that runs; NAME_ARENA_BYTES has room for it."""
    compilation = compiled(tmp_path, BOTH)
    main = """
        #include "m.h"
        uint8_t tflmgen_shared_arena[M_ARENA_BYTES] __attribute__((aligned(16)));
        int main(void)
        {
            printf("%d ", m_invoke());
            memset(tflmgen_shared_arena, 0, sizeof tflmgen_shared_arena);
            printf("%d %d", m_check(), m_invoke());
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compilation.sources, tmp_path, ["-DTFLMGEN_SHARED_ARENA"]) == "0 0 0"


def test_a_model_without_memory_and_constants_has_the_function(tmp_path: Path) -> None:
    main = '#include "m.h"\nint main(void) { printf("%d %d", m_invoke(), m_check()); return 0; }'
    compilation = compiled(tmp_path, BOTH, copying_model(constant_only=True))
    assert run_c(INCLUDES + main, compilation.sources, tmp_path) == "0 0"


WRONG = [
    (" + TFLMGEN_GUARD];", "];"),
    ("arena + TFLMGEN_GUARD_BEFORE + at_##tensor", "arena + at_##tensor"),
    ("(guards, sizeof guards / sizeof guards[0])) {", "(guards, 1)) {"),
    ("        return TFLMGEN_ERROR_MEMORY;", "        return TFLMGEN_OK;"),
    ("    arena + TFLMGEN_GUARD_BEFORE - TFLMGEN_GUARD,\n", ""),
    ("!= CONSTANTS_CRC", "== CONSTANTS_CRC"),
    ("tflmgen_crc32(constants, 14)", "tflmgen_crc32(constants, 13)"),
    ("    {const_threshold, 1},\n", ""),
    ("{const_weights_3, 1152}", "{const_weights_3, 1151}"),
    ("#define CONSTANTS_CRC 0x", "#define CONSTANTS_CRC 1 + 0x"),
    ("    has_guards = false;\n", ""),
    ("has_guards = KEEPS_GUARDS", "has_guards = false"),
    ("#define KEEPS_GUARDS true", "#define KEEPS_GUARDS false"),
    ("        return TFLMGEN_ERROR_WEIGHTS;", "        return TFLMGEN_OK;"),
]
"""Text of the plan, and what damages a check there."""


def test_the_proof_of_the_text_reads_the_checks(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, BOTH)
    checks = DeviceChecks(memory=True, weights="invoke")
    files = compilation.sources.files
    check_sources(compilation.program, "m", compilation.sources, checks)
    for written, instead in WRONG:
        assert written in files["src/m.c"]
        changed = {**files, "src/m.c": files["src/m.c"].replace(written, instead, 1)}
        with pytest.raises(InternalError):
            check_sources(compilation.program, "m", replace(compilation.sources, files=changed), checks)


def test_checks_that_nobody_asked_for_are_no_c_of_the_plan(tmp_path: Path) -> None:
    plain, checked = compiled(tmp_path, BuildOptions("m")), compiled(tmp_path, BOTH)
    with pytest.raises(InternalError):
        check_sources(plain.program, "m", checked.sources)
    with pytest.raises(InternalError):
        check_sources(plain.program, "m", plain.sources, DeviceChecks(memory=True))
