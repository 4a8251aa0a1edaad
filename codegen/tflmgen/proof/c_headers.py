"""Shows that the library's two headers are one API, whatever the C library calls its own, and how it is to be built."""

from __future__ import annotations

import json
import re

FLAGS = {"-ffp-contract=off", "-fno-delete-null-pointer-checks", "-DTFLMGEN_FLAGS_GIVEN"}
SETTINGS = {"frameworks": "*", "platforms": "*", "dependencies": [{"name": "tflmgen"}]}
FOLDERS = {"includeDir": "include", "srcDir": "src"}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def check_headers(header: str, other_header: str, name: str) -> str:
    """NAME.h as a header that is always the API's. Raises ValueError where either header is another.

    header: NAME.h, which passes on what the C library has by its name. other_header: NAME_model.h.
    """
    if _COMMENT.sub("", other_header).split() != f'#define TFLMGEN_WANTS_{name.upper()}\n#include "{name}.h"'.split():
        raise ValueError(f"{name}_model.h is not {name}.h")
    choice = _choice(name)
    if header.count(choice) != 1 or "#" in _COMMENT.sub("", header.partition(choice)[0]):
        raise ValueError(f"{name}.h does not pass on the header of a C library")
    return header.replace(choice, f"#ifndef TFLMGEN_MODEL_{name.upper()}_H\n" + "\n" * (choice.count("\n") - 1))


def _choice(name: str) -> str:
    macro = name.upper()
    return f"""#ifdef TFLMGEN_WANTS_{macro}
#undef TFLMGEN_WANTS_{macro}
#elif defined(__has_include_next)
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winclude-next-absolute-path"
#pragma clang diagnostic ignored "-Winclude-next-outside-header"
#endif
#if __has_include_next(<{name}.h>)
#define TFLMGEN_HIDES_{macro}
#endif
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#endif
#ifdef TFLMGEN_HIDES_{macro}
#undef TFLMGEN_HIDES_{macro}
#pragma GCC system_header
#include_next <{name}.h>
#elif !defined(TFLMGEN_MODEL_{macro}_H)
"""


def check_settings(settings: str, name: str) -> None:
    """Raises ValueError where library.json has another name, folders, dependencies or flags than the library."""
    library = json.loads(settings)
    if not isinstance(library, dict) or not isinstance(library.get("build"), dict):
        raise ValueError("library.json says nothing of the build")
    build = {**library.pop("build")}
    flags = build.pop("flags", None)
    texts = {key: library.pop(key, None) for key in ("version", "description")}
    if library != {"name": name, **SETTINGS} or build != FOLDERS or not all(isinstance(t, str) for t in texts.values()):
        raise ValueError("library.json has another name, other folders or dependencies")
    if not isinstance(flags, list) or len(flags) != len(FLAGS) or set(map(str, flags)) != FLAGS:
        raise ValueError("library.json has other flags")
