"""tflmgen_flash.h: states saved to a simulated flash whose power is cut at every byte, and the page's example."""

from __future__ import annotations

import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.c_program import run_c
from support.native import FIRMWARE, SANITIZED, WARNINGS, compile_in
from support.tools import may_lack
from support.trained_model import dense_model
from test_docs import examples
from tflmgen.compiler import compile_model
from tflmgen.frontend.tflite import write_model
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Loss, TrainOptions
from tflmgen.proof.signature_functions import BLOB_HEADER_BYTES

HEADER = FIRMWARE / "runtime" / "tflmgen_flash.h"
SIMULATION = Path(__file__).parents[1] / "support" / "nor_flash.h"

STATES = """
#include "nor_flash.h"

#define LAYOUT TFLMGEN_FLASH_LAYOUT_BYTES
#define NONE (-1)

static uint8_t blob[AREA];

/* State `number` of a layout, in the blob. */
static const uint8_t *state(uint32_t layout, int32_t number, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; ++i) {
        const uint32_t seed = i < LAYOUT ? layout : layout + 7u * (uint32_t)number;
        blob[i] = (uint8_t)((seed + 1u) * (i + 3u) * 2654435761u >> 24);
    }
    return blob;
}

static bool save(const struct tflmgen_flash *flash, int32_t number, uint32_t bytes)
{
    return tflmgen_flash_save(flash, state(1, number, bytes), bytes);
}

/* The number of the state that is loaded, one of two; NONE without any. */
static int32_t loaded(const struct tflmgen_flash *flash, uint32_t bytes, int32_t before, int32_t after)
{
    static uint8_t copy[AREA];
    memcpy(copy, state(1, 1000, bytes), bytes);
    if (!tflmgen_flash_load(flash, copy, bytes)) {
        return NONE;
    }
    const bool is_new = memcmp(copy, state(1, after, bytes), bytes) == 0;
    CHECK(is_new || memcmp(copy, state(1, before, bytes), bytes) == 0);
    return is_new ? after : before;
}
"""

CUTS = """
/* A save that is cut after some steps. False if it needs no more of them. */
static bool is_cut(const struct tflmgen_flash *flash, int32_t steps, int32_t number, uint32_t bytes, int32_t before)
{
    nor.steps = steps;
    const bool is_saved = save(flash, number, bytes);
    const bool was_cut = nor.is_dead;
    nor.is_dead = false;
    nor.steps = -1;
    const int32_t found = loaded(flash, bytes, before, number);
    CHECK(found == before || found == number);
    CHECK(is_saved ? found == number : was_cut);
    return was_cut;
}

int main(void)
{
    static const uint32_t sizes[][4] = {SIZES};
    for (uint32_t c = 0; c < sizeof sizes / sizeof sizes[0] * TEARS * 2; ++c) {
        const uint32_t *const size = sizes[c / TEARS / 2], bytes = size[3];
        const struct tflmgen_flash flash = nor_flash(size[0], size[1], size[2]);
        nor.tear = (enum tear)(c % TEARS);
        nor.has_error_correction = c / TEARS % 2;
        int32_t cuts = 0, kept = 0, before = NONE;
        for (int32_t number = 0; number < 3; before = number++) {
            const __typeof__(nor) start = nor;
            for (int32_t steps = 0; is_cut(&flash, steps, number, bytes, before); ++steps) {
                const int32_t found = loaded(&flash, bytes, before, number);
                kept += found == before;
                ++cuts;
                const __typeof__(nor) cut = nor; /* and then again */
                is_cut(&flash, (int32_t)(noise() % (uint32_t)(steps + 1)), number + 1, bytes, found);
                nor = cut;
                CHECK(save(&flash, number + 1, bytes) && loaded(&flash, bytes, found, number + 1) == number + 1);
                nor = start;
            }
        }
        printf("%d %d\\n", (int)cuts, (int)kept);
    }
    return 0;
}
"""

OTHERS = """
static const uint32_t BYTES = 100, SLOT = 256;

static bool is_kept(const struct tflmgen_flash *flash, int32_t number, uint32_t bytes)
{
    return save(flash, number, bytes) && loaded(flash, bytes, number, number) == number;
}

static void slots_take_turns(void)
{
    const struct tflmgen_flash flash = nor_flash(8, 64, SLOT);
    uint32_t saves[2] = {0, 0};
    for (int32_t number = 0; number < 10; ++number) {
        CHECK(is_kept(&flash, number, BYTES));
        ++saves[nor.last_erased / SLOT];
    }
    CHECK(nor.erases == 20 && saves[0] == 5 && saves[1] == 5);
}

/* Another size, then another layout: no state of theirs is there, and the first takes one slot. */
static void other_models(void)
{
    const struct tflmgen_flash flash = nor_flash(8, 64, SLOT);
    CHECK(is_kept(&flash, 1, BYTES) && is_kept(&flash, 2, BYTES) && is_kept(&flash, 3, BYTES));
    CHECK(loaded(&flash, 60, 0, 0) == NONE);
    CHECK(is_kept(&flash, 4, 60) && loaded(&flash, BYTES, 2, 3) == 2);
    state(2, 0, BYTES);
    CHECK(!tflmgen_flash_load(&flash, blob, BYTES));
    CHECK(tflmgen_flash_save(&flash, state(2, 0, BYTES), BYTES) && loaded(&flash, BYTES, 2, 2) == 2);
    CHECK(tflmgen_flash_save(&flash, state(2, 1, BYTES), BYTES) && loaded(&flash, BYTES, 2, 2) == NONE);
    CHECK(is_kept(&flash, 5, BYTES));
}

/* What does not fit is refused before anything is erased. */
static void sizes(void)
{
    struct tflmgen_flash flash = nor_flash(8, 64, SLOT);
    CHECK(!save(&flash, 0, SLOT - 15) && !save(&flash, 0, 0) && nor.erases == 0);
    CHECK(!tflmgen_flash_save(&flash, blob, UINT32_MAX) && !tflmgen_flash_load(&flash, blob, UINT32_MAX));
    CHECK(loaded(&flash, SLOT - 15, 0, 0) == NONE && is_kept(&flash, 0, SLOT - 16));
    flash.slot_bytes = 0;
    CHECK(!save(&flash, 0, 8) && loaded(&flash, 8, 0, 0) == NONE);
}

/* Noise; behind a header that could be one; with a layout that is right, too. */
static void garbage(void)
{
    for (int32_t kind = 0; kind < 100; ++kind) {
        const struct tflmgen_flash flash = nor_flash(8, 64, SLOT);
        const uint32_t length = kind % 2 == 0 ? BYTES : 0xFFFFFFF0u;
        for (uint32_t i = 0; i < AREA; ++i) {
            nor.cells[i] = (uint8_t)(kind == 0 ? 0 : noise());
            nor.is_written[i] = true;
        }
        for (uint8_t *slot = nor.cells; kind % 5 > 0 && slot <= nor.cells + SLOT; slot += SLOT) {
            const struct tflmgen_flash_header header = {TFLMGEN_FLASH_MAGIC, noise(), length, noise()};
            memcpy(slot, &header, sizeof header);
            memcpy(slot + sizeof header, state(1, 0, BYTES), LAYOUT);
        }
        CHECK(loaded(&flash, BYTES, 0, 0) == NONE && is_kept(&flash, 1, BYTES) && is_kept(&flash, 2, BYTES));
    }
}

/* A bit that flips, wherever it is, or a byte that cannot be written: the state before counts. */
static void bad_cells(void)
{
    struct tflmgen_flash flash = nor_flash(1, 64, SLOT);
    CHECK(is_kept(&flash, 1, BYTES) && is_kept(&flash, 2, BYTES));
    for (uint32_t bit = 0; bit < (16 + BYTES) * 8; ++bit) {
        const uint8_t mask = (uint8_t)(1u << bit % 8);
        nor.cells[SLOT + bit / 8] ^= mask;
        CHECK(loaded(&flash, BYTES, 1, 2) == 1);
        nor.cells[SLOT + bit / 8] ^= mask;
    }
    uint32_t failures = 0;
    for (uint32_t stuck = 0; stuck < 16 + BYTES; ++stuck) {
        nor.stuck = stuck;
        const bool is_saved = save(&flash, 3, BYTES);
        CHECK(loaded(&flash, BYTES, 2, 3) == (is_saved ? 3 : 2));
        failures += !is_saved;
        flash = nor_flash(1, 64, SLOT);
        CHECK(is_kept(&flash, 1, BYTES) && is_kept(&flash, 2, BYTES));
    }
    CHECK(failures > BYTES);
}

static void sequence_numbers_wrap(void)
{
    const struct tflmgen_flash flash = nor_flash(8, 64, SLOT);
    struct tflmgen_flash_header header = {TFLMGEN_FLASH_MAGIC, 0xFFFFFFFCu, BYTES, 0};
    header.crc = tflmgen_flash_crc(0xFFFFFFFFu, &header, TFLMGEN_FLASH_HEADER_CHECKED);
    header.crc = ~tflmgen_flash_crc(header.crc, state(1, 0, BYTES), BYTES);
    memcpy(nor.cells, &header, sizeof header);
    memcpy(nor.cells + sizeof header, blob, BYTES);
    CHECK(loaded(&flash, BYTES, 0, 0) == 0);
    for (int32_t number = 1; number < 9; ++number) {
        CHECK(is_kept(&flash, number, BYTES));
    }
}

int main(void)
{
    slots_take_turns();
    other_models();
    sizes();
    garbage();
    bad_cells();
    sequence_numbers_wrap();
    printf("%08x", (unsigned)~tflmgen_flash_crc(0xFFFFFFFFu, "123456789", 9));
    return 0;
}
"""

PRODUCT = """
bool flash_erase(void *context, uint32_t offset)
{
    return nor_erase(context == NULL ? &nor : NULL, offset);
}

bool flash_write(void *context, uint32_t offset, const void *data, uint32_t bytes)
{
    return nor_write(context == NULL ? &nor : NULL, offset, data, bytes);
}

bool flash_read(void *context, uint32_t offset, void *data, uint32_t bytes)
{
    return nor_read(context == NULL ? &nor : NULL, offset, data, bytes);
}

static void infer(float *result)
{
    for (int i = 0; i < MODEL_TRAIN_INFER_INPUT_ELEMENTS; ++i) {
        model_train_infer_input()[i] = (float)i;
    }
    CHECK(model_train_infer() == TFLMGEN_OK);
    memcpy(result, model_train_infer_output(), MODEL_TRAIN_INFER_OUTPUT_BYTES);
}

static void learn(void)
{
    for (int i = 0; i < MODEL_TRAIN_TRAIN_INPUT_X_ELEMENTS; ++i) {
        model_train_train_input_x()[i] = (float)i;
    }
    memset(model_train_train_input_y(), 0, MODEL_TRAIN_TRAIN_INPUT_Y_BYTES);
    CHECK(model_train_train() == TFLMGEN_OK);
}

/* A first start, a save, and a restart after a save that was cut. */
int main(void)
{
    static float fresh[MODEL_TRAIN_INFER_OUTPUT_ELEMENTS], learned[MODEL_TRAIN_INFER_OUTPUT_ELEMENTS];
    static float result[MODEL_TRAIN_INFER_OUTPUT_ELEMENTS];
    nor_flash(flash.write_bytes, flash.sector_bytes, flash.slot_bytes);
    restore();
    infer(fresh);
    learn();
    infer(learned);
    CHECK(memcmp(fresh, learned, sizeof fresh) != 0 && keep());
    learn();
    nor.steps = 100;
    CHECK(!keep());
    nor.is_dead = false;
    nor.steps = -1;
    model_train_reset();
    infer(result);
    CHECK(memcmp(result, fresh, sizeof fresh) == 0);
    restore();
    infer(result);
    CHECK(memcmp(result, learned, sizeof learned) == 0 && keep());
    printf("kept");
    return 0;
}
"""

SIZES = (
    (1, 64, 128, 112),
    (2, 64, 64, 29),
    (4, 32, 128, 45),
    (8, 64, 256, 101),
    (32, 128, 256, 90),
    (1, 512, 512, 300),
    (256, 512, 1024, 300),
)
"""Bytes of a unit of writing, a sector, a slot and a state."""


def run(main: str, folder: Path, header: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program beside the simulated flash and the header of firmware/, or another one."""
    sizes = str(SIZES).replace("(", "{").replace(")", "}")[1:-1]
    texts = {"main.c": STATES + main.replace("SIZES", sizes), "nor_flash.h": SIMULATION.read_text(encoding="utf-8")}
    if header is not None:
        texts[HEADER.name] = header
    compile_in(folder, texts, ["gcc", *WARNINGS, *SANITIZED, "-O1", "-Wno-unused-function"], folder / "program")
    return subprocess.run([folder / "program"], capture_output=True, text=True, check=False, timeout=120)


def rounded_up(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def test_a_cut_at_any_byte_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    """Each of three saves is cut at each step: a byte of a write, a sixteenth of an erase; the next may be cut, too."""
    ran = run(CUTS, tmp_path)
    assert ran.returncode == 0, ran.stderr
    counts = [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]
    steps = [
        16 * -(-(rounded_up(16, unit) + state) // sector) + rounded_up(16, unit) + rounded_up(state, unit)
        for unit, sector, _, state in SIZES
    ]
    assert [cuts for cuts, _ in counts] == [3 * count for count in steps for _ in range(8)]
    assert all(0 < kept <= cuts for cuts, kept in counts)
    assert any(kept < cuts for cuts, kept in counts)


@pytest.mark.parametrize(
    ("main", "right", "wrong"),
    [
        (CUTS, "== 0 ? 1 : 0;", "== 0 ? 0 : 1;"),
        (OTHERS, "return ~crc == header.crc;", "return true;"),
        (CUTS, "(number - *sequence) - 1u < 0x7FFFFFFFu", "false"),
        (CUTS, "if (!flash->erase(flash->context, start + offset)) {", "if (false) {"),
    ],
    ids=["the same slot", "no CRC", "the first slot", "no erase"],
)
def test_a_header_that_saves_wrongly_fails(main: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = HEADER.read_text(encoding="utf-8")
    assert text.count(right) == 1
    assert run(main, tmp_path, text.replace(right, wrong)).returncode == 1


def test_other_contents_of_the_flash(tmp_path: Path) -> None:
    """Wear, states of other models and sizes, garbage, bad cells, numbers that wrap; and the CRC is zlib's."""
    ran = run(OTHERS, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{zlib.crc32(b'123456789'):08x}"


def test_the_layout_is_the_header_of_a_state() -> None:
    assert f"#define TFLMGEN_FLASH_LAYOUT_BYTES {BLOB_HEADER_BYTES}\n" in HEADER.read_text(encoding="utf-8")


def test_the_page_keeps_what_a_model_learned(tmp_path: Path) -> None:
    """The example of docs/use/train.md, with the simulated flash as its driver."""
    (block,) = (block for block in examples("docs/use/train.md", "c") if HEADER.name in block)
    options = parse_training_options(TrainOptions(loss=Loss.SPARSE_CATEGORICAL_CROSSENTROPY))
    model = tmp_path / "model-train.tflite"
    model.write_bytes(write_model(derive_training_model(dense_model(), options).model))
    library = compile_model(model, Target("host"), BuildOptions()).sources
    simulation = {"nor_flash.h": SIMULATION.read_text(encoding="utf-8")}
    sources = replace(library, files={**library.files, **simulation})
    main = "#define AREA 16384\n" + block + '#include "nor_flash.h"\n' + PRODUCT
    assert run_c(main, sources, tmp_path) == "kept"


def test_compilers_accept_the_header(tmp_path: Path) -> None:
    """By itself, in C99 and C++, for small cores too; and it needs no function but those of string.h."""
    include = f'#include "{HEADER}"\n'
    calls = "bool save(const struct tflmgen_flash *f, void *s) { return tflmgen_flash_save(f, s, 99); }\n"
    calls += "bool load(const struct tflmgen_flash *f, void *s) { return tflmgen_flash_load(f, s, 99); }\n"
    (tmp_path / "user.c").write_text(include + calls, encoding="utf-8")
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-c", "-o", "user.o")
    commands: list[tuple[str, ...]] = [
        ("gcc", "-std=c99", "-fanalyzer"),
        ("clang", "-std=c99"),
        ("g++", "-xc++", "-std=c++11"),
        ("arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m0"),
    ]
    for command in commands:
        if not may_lack(command[0]):
            words = [*command, *warnings, "user.c"]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            symbols = subprocess.run(["nm", "-u", tmp_path / "user.o"], capture_output=True, text=True, check=True)
            assert set(symbols.stdout.split()) <= {"U", "memcmp", "memcpy", "memset", "__stack_chk_fail"}
