"""Generated C beyond the golden files: names, line numbers, hostile texts, one program of several models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from support.random_program import Seeded, random_program
from support.tiny_graphs import branch_model, straight_model, swap_model
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

HOSTILE = '*/ int x; /* "\\" ??/ %s \n \N{SNOWMAN} ' + "a" * 200


def adding_model(keys: Sequence[str], inputs: Sequence[str], name: str = "main", output: str = "y") -> bytes:
    """A signature per key, each of which adds its first and last input."""
    w = ModelWriter()
    for index, key in enumerate(keys):
        g = w.subgraph(name)
        g.inputs = [g.tensor(text, "int32", [2]) for text in inputs]
        g.outputs = [g.tensor(output, "int32", [2])]
        g.operator("ADD", [g.inputs[0], g.inputs[-1]], g.outputs)
        w.signature(key, {text: i for i, text in enumerate(inputs)}, {output: len(inputs)}, index)
    return w.finish()


def runs(stages: Stages, name: str = "m") -> bool:
    """Whether the library builds under all warnings, and every signature adds."""
    signatures = stages.program.signatures
    program = build_native({name: stages.sources(name)})
    count = len(signatures[0].inputs)
    inputs = tuple(np.array([i, 10 * i], np.int32) for i in range(1, count + 1))
    calls = [Invocation(0, i, inputs) for i in range(len(signatures))]
    return all(np.array_equal(y, inputs[0] + inputs[-1]) for (y,) in run_native(program, calls, [signatures]))


@pytest.mark.parametrize(
    ("keys", "inputs"),
    [
        (["reset", "model", "invoke", "input"], ["x"]),
        (["a", "A", "a "], ["x", "X"]),
        (["serving_default", "f"], ["int", "Int", "x y", "x-y", "", "x_y_2", "bytes", "shape"]),
        (["9", "for"], ["9", "for"]),
        (["a", "a_input_b", "a_output", "state_save"], ["b", "c"]),
    ],
)
def test_names_that_collide(keys: list[str], inputs: list[str]) -> None:
    assert runs(compile_bytes(adding_model(keys, inputs)))


@pytest.mark.parametrize("name", ["run", "input", "arena", "slot_0", "for"])
def test_subgraph_names(name: str) -> None:
    assert runs(compile_bytes(adding_model(["a", "b"], ["x"], name)))


def test_hostile_texts_stay_in_comments_and_strings() -> None:
    stages = compile_bytes(adding_model([HOSTILE, HOSTILE + "2"], [HOSTILE + "x"], HOSTILE, HOSTILE + "y"))
    assert runs(stages)


def test_every_step_names_the_line_of_its_code() -> None:
    for seed in range(20):
        stages = compile_bytes(random_program(Seeded(seed)))
        sources = stages.sources("m")
        lines = sources.files["src/m.c"].splitlines()
        for step, number in sources.lines.items():
            assert lines[number - 1].strip(), (seed, step)
            assert not lines[number - 1].strip().startswith("/* subgraph"), (seed, step)


def test_each_kernel_call_has_its_place_in_the_file_above_it() -> None:
    text = compile_bytes(straight_model()).sources("m").files["src/m.c"]
    above = [line.strip() for line in text.split("static void run_main(void)")[1].splitlines()]
    call = next(i for i, line in enumerate(above) if line.startswith("tflmgen_add_s32("))
    struct = above.index("static const struct tflmgen_arithmetic_s32 arithmetic_s32_0 = {")
    assert above[struct - 1] == "/* subgraph 0 'main', operator 0: ADD -> int32[4] 'sum' */"
    assert above.index("};") == call - 1
    assert " ".join(above).count("static const struct") == 1, "MUL has the same numbers"


def test_numbers_that_two_branches_share_stand_before_the_function() -> None:
    w = ModelWriter()
    main, then, orelse = (w.subgraph(name) for name in ("main", "then", "else"))
    for g, operator in (then, "ADD"), (orelse, "MUL"):
        x, y = g.tensor("x", "int32", [4]), g.tensor("y", "int32", [4])
        g.operator(operator, [x, x], [y])
        g.inputs, g.outputs = [x], [y]
    p, x, z = main.tensor("p", "bool", [1]), main.tensor("x", "int32", [4]), main.tensor("z", "int32", [4])
    main.operator("IF", [p, x], [z], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [p, x], [z]
    before, _, body = compile_bytes(w.finish()).sources("m").files["src/m.c"].partition("/* Subgraph 'main' */")
    assert "\nstatic const struct tflmgen_arithmetic_s32 arithmetic_s32_0 = {\n" in before
    assert body.count("&arithmetic_s32_0)") == 2
    assert "static const struct" not in body


def test_offsets_are_named_by_tensor() -> None:
    model = adding_model(["a"], ["main/x", "y/z/sum/Add;y/bias"], output="for")
    text = compile_bytes(model).sources("m").files["src/m.c"]
    assert "tflmgen_add_s32(AT(main_x), AT(sum_add), AT(for), &arithmetic_s32_0);" in text
    for name, offset in (("main_x", 0), ("sum_add", 8)):
        assert re.search(rf"^    at_{name} = {offset}, +/\* int32\[2\] \*/$", text, re.MULTILINE)


def test_tensors_of_one_name_at_several_places_are_numbered() -> None:
    text = compile_bytes(adding_model(["a", "b"], ["x", "X"])).sources("m").files["src/m.c"]
    names = [line.split()[0] for line in text.splitlines() if line.startswith("    at_")]
    assert len(names) == len(set(names))
    assert {"at_x", "at_x_2"} <= set(names)


def test_views_have_a_line() -> None:
    w = ModelWriter()
    g = w.subgraph("main")
    x, square = (g.tensor(name, "int32", [2, 2]) for name in ("x", "square"))
    flat, y = (g.tensor(name, "int32", [4]) for name in ("flat", "y"))
    g.operator("MUL", [x, x], [square])
    g.operator("RESHAPE", [square, g.constant("shape", np.array([4], np.int32))], [flat])
    g.operator("ADD", [flat, flat], [y])
    g.inputs, g.outputs = [x], [y]
    text = compile_bytes(w.finish()).sources("m").files["src/m.c"]
    assert "operator 1: RESHAPE -> int32[4] 'flat', a view of 'square' */" in text


def compiled(data: bytes, folder: Path) -> str:
    """The plan in C, as the driver makes it."""
    path = folder / "m.tflite"
    path.write_bytes(data)
    return compile_model(path, Target(core="host"), BuildOptions()).sources.files["src/m.c"]


def test_joined_operators_are_named_at_the_one_that_computes_them(tmp_path: Path) -> None:
    w = ModelWriter()
    g = w.subgraph("main")
    x, total, scaled, positive, y = (
        g.tensor(name, "float32", [4]) for name in ("x", "total", "scaled", "positive", "y")
    )
    ones = g.constant("one", np.ones(4, np.float32))
    g.operator("ADD", [x, x], [total])
    g.operator("MUL", [total, ones], [scaled])
    g.operator("RELU", [scaled], [positive])
    g.operator("MUL", [positive, x], [y])
    g.inputs, g.outputs = [x], [y]
    text = compiled(w.finish(), tmp_path)
    add = text.index("operator 0: ADD")
    assert text.index("operator 3: MUL") > text.index("RELU", add) > add
    assert " 2 RELU */\n    static const struct tflmgen_arithmetic_f32 " in text


def test_operators_that_are_kept_are_joined_to_none(tmp_path: Path) -> None:
    assert "joined to it" not in compiled(swap_model(), tmp_path)


def test_arrays_say_what_they_are() -> None:
    sources = compile_bytes(straight_model()).sources("m")
    assert "/* 'c': int32[4] */\nTFLMGEN_WEIGHTS static const int32_t const_c[4]" in sources.files["src/m_weights.h"]


def test_the_same_model_gives_the_same_bytes() -> None:
    for seed in range(10):
        data = random_program(Seeded(seed))
        assert compile_bytes(data).sources("m").files == compile_bytes(data).sources("m").files


def test_models_link_into_one_program_with_one_arena_between_them() -> None:
    models = {"one": straight_model(), "two": branch_model(), "three": swap_model()}
    stages = {name: compile_bytes(data) for name, data in models.items()}
    arena = max(s.program.arena_bytes for s in stages.values())
    flags = ("-O1", "-DTFLMGEN_SHARED_ARENA", f"-DTEST_ARENA={arena}")
    program = build_native({name: s.sources(name) for name, s in stages.items()}, flags=flags)
    x = np.arange(1, 5, dtype=np.int32)
    eight = np.arange(8, dtype=np.int32)
    calls = [
        Invocation(0, 0, (x,)),
        Invocation(1, 0, (np.array([True]), x[:3], x[1:])),
        Invocation(2, 0, (x[:1], eight, -eight)),
        Invocation(0, 0, (x,)),
    ]
    outputs = run_native(program, calls, [s.program.signatures for s in stages.values()])
    wanted: Sequence[list[Any]] = (
        [((x + x) * x).reshape(2, 2)],
        [x[:3] + x[1:]],
        [-eight, eight],
        [((x + x) * x).reshape(2, 2)],
    )
    for got, expected in zip(outputs, wanted, strict=True):
        for array, right in zip(got, expected, strict=True):
            np.testing.assert_array_equal(array, right)
