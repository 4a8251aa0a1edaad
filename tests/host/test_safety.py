"""What keeps a firmware alive: limits of loops, the progress hook, saved states."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.c_program import run_c
from support.tiny_graphs import calling_model, sum_model, swap_model
from tflmgen.compiler import Compilation, compile_model
from tflmgen.errors import ModelError, UsageError
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

INCLUDES = "#include <stdio.h>\n#include <string.h>\n"


def compiled(data: bytes, folder: Path, *limits: str, name: str = "m", hook: bool = False) -> Compilation:
    path = folder / f"{name}.tflite"
    path.write_bytes(data)
    return compile_model(path, Target("host"), BuildOptions(max_iterations=list(limits), progress_hook=hook))


@pytest.mark.parametrize(("limit", "statuses"), [("3", "0 2 2 0 "), ("body=4", "0 0 2 0 "), ("0:0=0", "2 2 2 2 ")])
def test_a_loop_that_runs_too_long_ends_with_an_error(limit: str, statuses: str, tmp_path: Path) -> None:
    main = """
        #include "m.h"
        int main(void)
        {
            const int32_t trips[] = {3, 4, 2000000000, 1};
            for (int i = 0; i < 4; ++i) {
                *m_input_n() = trips[i];
                printf("%d ", m_invoke());
            }
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compiled(swap_model(), tmp_path, limit).sources, tmp_path) == statuses


def test_the_status_of_a_function_reaches_every_signature(tmp_path: Path) -> None:
    compilation = compiled(calling_model(), tmp_path, "5")
    main = """
        #include "m.h"
        int main(void)
        {
            for (int32_t n = 9; n < 12; ++n) {
                *m_first_input_x() = 2;
                *m_first_input_n() = n;
                printf("%d ", m_first());
                *m_second_input_x() = 2;
                *m_second_input_n() = n;
                printf("%d ", m_second());
            }
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compilation.sources, tmp_path) == "0 0 2 2 2 2 "
    assert [loop["max_iterations"] for loop in compilation.plan["loops"]] == [5] * len(compilation.plan["loops"])


def test_without_a_limit_nothing_can_fail(tmp_path: Path) -> None:
    assert "ERROR" not in compiled(swap_model(), tmp_path).sources.files["src/m.c"]


def test_bad_limits(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as unknown:
        compiled(swap_model(), tmp_path, "lop=3")
    assert "names a loop 'lop' that the model does not have. Its loops are 0:0, body" in str(unknown.value)
    for text in ("many", "-1", "body=", "=3", "4294967296"):
        with pytest.raises(UsageError, match="requires N, or LOOP=N"):
            compiled(swap_model(), tmp_path, text)


def test_the_progress_hook_sees_every_operator(tmp_path: Path) -> None:
    (tmp_path / "hook.h").write_text("extern int seen;\n#define TFLMGEN_PROGRESS(step) (seen += (step) > 0)\n")
    main = """
        #include "m.h"
        int seen;
        int main(void)
        {
            *m_input_n() = 6;
            m_invoke();
            printf("%d", seen);
            return 0;
        }
    """
    flags = ("-include", str(tmp_path / "hook.h"))
    assert run_c(INCLUDES + main, compiled(swap_model(), tmp_path, hook=True).sources, tmp_path, flags) == "13"


def test_without_the_option_there_is_no_hook(tmp_path: Path) -> None:
    assert "PROGRESS" not in compiled(swap_model(), tmp_path).sources.files["src/m.c"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_state_is_saved_and_loaded(compiler: str, tmp_path: Path) -> None:
    main = """
        #include "m.h"
        static uint8_t room[1 + M_STATE_BLOB_BYTES];
        static int32_t add(int32_t x)
        {
            *m_input() = x;
            m_invoke();
            return *m_output_following() * 100 + m_output_both()[1];
        }
        int main(void)
        {
            uint8_t *blob = room + 1;
            printf("%d ", add(1));
            m_state_save(blob);
            printf("%d ", add(5));
            printf("%d ", m_state_load(blob));
            printf("%d ", add(2));
            m_reset();
            printf("%d ", add(0));
            for (int i = 0; i < 28; ++i) {
                blob[i] ^= 1;
                printf("%d", m_state_load(blob));
                blob[i] ^= 1;
            }
            printf(" %d %d", add(0), M_STATE_BLOB_BYTES - M_STATE_BYTES);
            return 0;
        }
    """
    sources = compiled(sum_model(), tmp_path).sources
    printed = run_c(INCLUDES + main, sources, tmp_path, compiler=compiler)
    assert printed == f"1103 1604 0 1304 1003 {'4' * 28} 1004 28"


def test_two_streams_take_turns(tmp_path: Path) -> None:
    """Each with a blob of its own: as if each had the model to itself."""
    main = """
        #include "m.h"
        static uint8_t streams[2][M_STATE_BLOB_BYTES];
        static int32_t add(int32_t x)
        {
            *m_input() = x;
            m_invoke();
            return *m_output_following() * 100 + m_output_both()[1];
        }
        int main(void)
        {
            static const int32_t values[2][3] = {{1, 5, 2}, {7, 0, 4}};
            int32_t alone[2][3];
            int differing = 0;
            for (int s = 0; s < 2; ++s) {
                m_reset();
                m_state_save(streams[s]);
                for (int i = 0; i < 3; ++i) {
                    alone[s][i] = add(values[s][i]);
                }
            }
            for (int i = 0; i < 3; ++i) {
                for (int s = 0; s < 2; ++s) {
                    differing += m_state_load(streams[s]) != TFLMGEN_OK || add(values[s][i]) != alone[s][i];
                    m_state_save(streams[s]);
                }
            }
            printf("%d %d", differing, alone[0][2] != alone[1][2]);
            return 0;
        }
    """
    assert run_c(INCLUDES + main, compiled(sum_model(), tmp_path).sources, tmp_path) == "0 1"


def test_a_blob_of_another_model_is_refused(tmp_path: Path) -> None:
    library = compiled(sum_model(), tmp_path).sources.files["src/m.c"]
    other = compiled(sum_model() + b"\0\0\0\0", tmp_path).sources.files["src/m.c"]
    assert header(library) == header(library)
    assert header(library)[:3] == header(other)[:3]
    assert header(library) != header(other)


def header(source: str) -> list[str]:
    """The numbers of a library's state_header."""
    text = source.partition("state_header[")[2].partition("{")[2].partition("}")[0]
    return text.replace(",", " ").split()


def test_models_without_state_have_no_such_functions(tmp_path: Path) -> None:
    assert "state_" not in "".join(compiled(swap_model(), tmp_path).sources.files.values())
