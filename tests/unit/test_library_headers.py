"""The proof of a library's headers and of its library.json: every change of either is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.mutation_campaign import NAME, is_read, libraries
from tflmgen.proof.c_headers import check_headers, check_settings


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    label, program, sources = next(iter(libraries(range(1), "**/*.tflite")))
    assert is_read(program, sources), label
    return dict(sources.files)


def test_every_key_of_library_json_is_checked(files: dict[str, str]) -> None:
    settings: dict[str, Any] = json.loads(files["library.json"])
    check_settings(json.dumps(settings), NAME)
    build = settings["build"]
    mutants = [{k: v for k, v in settings.items() if k != key} for key in settings]
    mutants += [{**settings, "build": {k: v for k, v in build.items() if k != key}} for key in build]
    mutants += [{**settings, key: "x"} for key in settings if key not in ("version", "description")]
    mutants += [{**settings, "build": {**build, key: "x"}} for key in (*build, "extraScript")]
    mutants += [{**settings, "build": {**build, "flags": [*build["flags"], build["flags"][0]]}}]
    mutants += [{**settings, "scripts": {"postinstall": "x"}}]
    for mutant in mutants:
        with pytest.raises(ValueError, match=r"library\.json"):
            check_settings(json.dumps(mutant), NAME)


def test_both_headers_are_one(files: dict[str, str]) -> None:
    header, other = files[f"include/{NAME}.h"], files[f"include/{NAME}_model.h"]
    assert f"#ifndef TFLMGEN_MODEL_{NAME.upper()}_H" in check_headers(header, other, NAME)
    for changed, changed_other in (
        (header, other.replace("WANTS", "HIDES")),
        (header, other + "#define X\n"),
        (header.replace("#include_next", "#include"), other),
        (header.replace("#undef TFLMGEN_WANTS", "#undef TFLMGEN_HIDES"), other),
        ("#pragma once\n" + header, other),
    ):
        with pytest.raises(ValueError, match=r"\.h "):
            check_headers(changed, changed_other, NAME)
