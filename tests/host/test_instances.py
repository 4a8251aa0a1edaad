"""Libraries with --reentrant: several instances of one model, each with its own state and arena."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c_program import run_c
from support.commands import tflmgen
from support.dynamic_models import growing_loop
from support.emulated_kernels import M4, lines_of
from support.emulated_start import START
from support.instances import MANY, SINGLE, STEPS, comparison
from support.model_writer import ModelWriter, SubgraphWriter
from support.native import FIRMWARE, WARNINGS
from support.pipeline import compile_bytes
from support.tiny_graphs import calling_model, sum_model, swap_model
from support.window_models import branching, ds_cnn, looping, two_windows
from tflmgen.backend.c_library import Sources, emit
from tflmgen.compiler import Compilation, check_sources, compile_model
from tflmgen.errors import InternalError, UsageError
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, CheckWeights, Optimize

HOST = Target("host")


def growing() -> bytes:
    """A loop that appends rows: an output whose shape is known at run time only."""

    def row(g: SubgraphWriter, _counter: int, _rows: int) -> int:
        return g.constant("row", [[7, 8]], "int32")

    return growing_loop("int32", [2], row)


MODELS: dict[str, tuple[Callable[[], bytes], dict[str, Any]]] = {
    "state": (sum_model, {}),
    "exchanged pointers": (swap_model, {}),
    "functions and two signatures": (calling_model, {"max_iterations": ["2"]}),
    "shapes at run time": (growing, {"max_dim": 6}),
    "rows": (lambda: ds_cnn(rows=16, channels=4), {"push_rows": ["t0"], "optimize": Optimize.RAM}),
    "a window": (lambda: ds_cnn(rows=16, channels=4), {"slide": ["t0=1,2"]}),
    "windows": (two_windows, {"slide": ["left=1,1", "right=1,1"]}),
    "a window and a branch": (branching, {"slide": ["x=1,1"]}),
    "a window and a loop": (looping, {"slide": ["x=1,1"], "check_weights": CheckWeights.START}),
}


def compiled(data: bytes, folder: Path, name: str, target: Target = HOST, **options: Any) -> Compilation:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return compile_model(path, target, BuildOptions(name=name, **options))


def both(model: str, folder: Path, target: Target = HOST) -> tuple[Sources, Sources]:
    """A model as a library of one instance, and as one of many."""
    make, options = MODELS[model]
    single = compiled(make(), folder, SINGLE, target, **options)
    return single.sources, compiled(make(), folder, MANY, target, reentrant=True, **options).sources


@pytest.mark.parametrize("model", MODELS)
def test_two_instances_in_turns_compute_what_each_computes_alone(model: str, tmp_path: Path) -> None:
    single, many = both(model, tmp_path)
    main = f"""
        #include <stdio.h>
        {comparison(single, many)}
        int main(void)
        {{
            const uint32_t differences = compare();
            printf("%u %d", (unsigned)differences, successes >= {STEPS // 8});
            return 0;
        }}
    """
    merged = replace(many, files={**single.files, **many.files})
    assert run_c(main, merged, tmp_path) == "0 1"
    command = ["gcc", *WARNINGS, "-fno-pie", "-c", "-Iinclude", f"-I{FIRMWARE / 'runtime'}"]
    subprocess.run([*command, "src/many.c", "-o", "many.o"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "many.o"], cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    kinds = [line.split()[-2] for line in symbols.splitlines()]
    assert "T" in kinds
    assert not {"b", "B", "d", "D", "C"} & set(kinds), "instances share variables"


@pytest.mark.emulator
@pytest.mark.parametrize("model", ["state", "a window and a loop"])
def test_two_instances_on_a_board(model: str, tmp_path: Path) -> None:
    single, many = both(model, tmp_path, M4.target)
    for path, text in {**single.files, **many.files}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "include" / "tflmgen").symlink_to(FIRMWARE / "kernels")
    main = f"""
        #include <stdint.h>
        {START}
        {comparison(single, many)}
        int main(void)
        {{
            (void)ram;
            say("", compare());
            say(" ", successes >= {STEPS // 8});
            return 0;
        }}
    """
    files = ["src/single.c", "src/many.c"]
    assert lines_of(M4, main, tmp_path, "-O2", "-Iinclude", f"-I{FIRMWARE / 'runtime'}", *files) == ["0 1"]


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include "m.h"
static m_t instances[2];
static uint8_t arenas[2][M_ARENA_BYTES + 16 - M_ARENA_BYTES % 16] __attribute__((aligned(M_ARENA_ALIGNMENT)));
static void *run(void *argument)
{
    m_t *const self = argument;
    for (int32_t i = 0; i < 1000; ++i) {
        *m_input(self) = self == &instances[0] ? 1 : 3;
        if (m_invoke(self) != TFLMGEN_OK) {
            return NULL;
        }
    }
    return argument;
}
int main(void)
{
    pthread_t threads[2];
    for (int k = 0; k < 2; ++k) {
        if (m_init(&instances[k], arenas[k]) != TFLMGEN_OK || pthread_create(&threads[k], NULL, run, &instances[k])) {
            return 1;
        }
    }
    for (int k = 0; k < 2; ++k) {
        pthread_join(threads[k], NULL);
        printf("%d ", (int)*m_output_following(&instances[k]));
    }
    return 0;
}
"""


def test_instances_in_two_threads(tmp_path: Path) -> None:
    """Under ThreadSanitizer, which ends a program whose threads share what they write."""
    sources = compiled(sum_model(), tmp_path, "m", reentrant=True).sources
    for path, text in {**sources.files, "main.c": THREADS}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "include" / "tflmgen").symlink_to(FIRMWARE / "kernels")
    command = ["gcc", "-std=gnu99", "-O1", "-fsanitize=thread", "-pthread", "-Iinclude", f"-I{FIRMWARE / 'runtime'}"]
    subprocess.run([*command, "main.c", "src/m.c", "-o", "program"], cwd=tmp_path, check=True)
    ran = subprocess.run(["setarch", "-R", "./program"], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, b"1010 3010 "), ran.stderr[-2000:]


def test_states_arenas_and_errors_of_instances(tmp_path: Path) -> None:
    """A state goes from one to the other, a reset is of one alone, two share an arena, and bad arenas are refused."""
    main = """
        #include <stdio.h>
        #include "m.h"
        static int32_t add(m_t *self, int32_t x)
        {
            *m_input(self) = x;
            return m_invoke(self) == TFLMGEN_OK ? *m_output_following(self) : -1;
        }
        int main(void)
        {
            static uint8_t arena[M_ARENA_BYTES + 16] __attribute__((aligned(M_ARENA_ALIGNMENT)));
            m_t left, right;
            uint8_t blob[M_STATE_BLOB_BYTES];
            printf("%d %d ", m_init(&left, NULL), m_init(&left, arena + 4));
            printf("%d %d ", m_init(&left, arena), m_init(&right, arena));
            printf("%d %d ", (int)add(&left, 5), (int)add(&right, 100));
            m_state_save(&left, blob);
            printf("%d ", m_state_load(&right, blob));
            printf("%d ", (int)add(&right, 1));
            m_reset(&left);
            printf("%d %d ", (int)add(&left, 1), (int)add(&right, 1));
            blob[8] ^= 1;
            printf("%d", m_state_load(&right, blob));
            return 0;
        }
    """
    sources = compiled(sum_model(), tmp_path, "m", reentrant=True).sources
    assert run_c(main, sources, tmp_path) == "3 3 0 0 15 110 0 16 11 17 4"


@pytest.mark.parametrize("model", ["shapes at run time", "windows"])
@pytest.mark.parametrize("compiler", ["g++ -std=c++11 -x c++", "clang -std=c99", "clang++ -std=c++11 -x c++"])
def test_the_header_is_legal_everywhere(model: str, compiler: str, tmp_path: Path) -> None:
    words = compiler.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    make, options = MODELS[model]
    sources = compiled(make(), tmp_path, MANY, reentrant=True, **options).sources
    (tmp_path / "many.h").write_text(sources.files["include/many.h"])
    (tmp_path / "main.c").write_text(
        '#include "many.h"\nstatic many_t many;\nint main(void) { return many.arena != 0; }\n'
    )
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{FIRMWARE / 'runtime'}"]
    subprocess.run([*words, *flags, "main.c"], cwd=tmp_path, check=True)


CHANGES: Sequence[tuple[str, str, str]] = [
    ("src/m.c", "run_main(self);", "run_main(self + 1);"),
    ("src/m.c", "memcpy(self->state, initial_state", "memcpy(m_other->state, initial_state"),
    ("src/m.c", "    self->arena = arena;\n", ""),
    ("src/m.c", "% M_ARENA_ALIGNMENT != 0", "% M_ARENA_ALIGNMENT != 1"),
    ("src/m.c", "    m_reset(self);\n", ""),
    ("src/m.c", "/* Subgraph 'main' */", "static int shared;"),
    ("src/m.c", "#define AT(tensor) ((void *)(self->arena", "#define AT(tensor) ((void *)(1 + self->arena"),
    ("include/m.h", "    uint8_t *arena;\n", "    uint8_t arena[12];\n"),
    ("include/m.h", "uint8_t state[12]", "uint8_t state[8]"),
    ("include/m.h", "ALIGNMENT 16", "ALIGNMENT 1"),
    ("include/m.h", "m_invoke(m_t *self)", "m_invoke(m_t *other)"),
    ("src/m_model.c", "return &self;", "return 0;"),
    ("src/m_model.c", "m_invoke(instance())", "m_reset(instance())"),
    ("src/m_model.c", ".invoke = instance_invoke", ".invoke = 0"),
]


@pytest.mark.parametrize(("path", "old", "new"), CHANGES)
def test_text_that_is_not_reentrant_is_refused(path: str, old: str, new: str, tmp_path: Path) -> None:
    compilation = compiled(sum_model(), tmp_path, "m", reentrant=True)
    text = compilation.sources.files[path]
    assert old in text
    changed = replace(compilation.sources, files={**compilation.sources.files, path: text.replace(old, new)})
    with pytest.raises(InternalError):
        check_sources(compilation.program, "m", changed)


def test_pointers_and_extents_must_be_set_at_the_start(tmp_path: Path) -> None:
    compilation = compiled(swap_model(), tmp_path, "m", reentrant=True)
    for old, new in (("result_0 = AT(a)", "result_0 = AT(b)"), ("    self->run_main_result_1 = AT(b);\n", "")):
        text = compilation.sources.files["src/m.c"]
        assert old in text
        changed = {**compilation.sources.files, "src/m.c": text.replace(old, new)}
        with pytest.raises(InternalError):
            check_sources(compilation.program, "m", replace(compilation.sources, files=changed))


def test_generic_callers_have_an_instance_of_their_own(tmp_path: Path) -> None:
    """Emulators and the host run the library by its descriptor: inputs, outputs, shapes and resets."""
    (tmp_path / "m.tflite").write_bytes(growing())
    words = ("run", tmp_path / "m.tflite", "--board", "host", "--max-dim", "6", "--json")
    np.savez(tmp_path / "x.npz", n=np.int32(3))
    for name, more in (("plain", ()), ("handles", ("--reentrant",))):
        ran = tflmgen(*words, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / f"{name}.npz", *more)
        assert ran.code == 0, ran.err
    plain, handles = (np.load(tmp_path / f"{name}.npz")["grown"] for name in ("plain", "handles"))
    assert plain.shape == (4, 2)
    np.testing.assert_array_equal(plain, handles)


def test_guards_need_one_static_instance(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--reentrant excludes --check-memory"):
        compiled(sum_model(), tmp_path, "m", reentrant=True, check_memory=True)
    refused = tflmgen("build", tmp_path / "m.tflite", "--board", "host", "--reentrant", "--check-memory")
    assert refused.code == 2


@pytest.mark.parametrize("elements", [1, 3, 4, 5, 16, 17])
def test_arenas_lie_one_after_another(elements: int) -> None:
    """NAME_ARENA_BYTES is a multiple of NAME_ARENA_ALIGNMENT, as aligned_alloc() and arrays of arenas want it."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = (graph.tensor(name, "int8", [1, elements], [0.5], [0]) for name in "xy")
    graph.operator("RELU", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    header = emit(compile_bytes(writer.finish()).program, "m", "", "", reentrant=True).files["include/m.h"]
    needed, alignment = (
        int(re.findall(rf"#define M_ARENA_{name} (\d+)", header)[0]) for name in ("BYTES", "ALIGNMENT")
    )
    assert needed >= elements
    assert needed % alignment == 0
