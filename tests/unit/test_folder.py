from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tflmgen import user_cache
from tflmgen.project import folder, kept_if_whole
from tflmgen.project.folder import BEGIN, END, MANIFEST, Content, FolderError, read_about, write_folder


def content(files: Mapping[str, str], ini: str = "a = 1", once: str = "main", form: str = "project") -> Content:
    shared = {"p.ini": f"{BEGIN}\n{ini}\n{END}\nyours\n".encode()}
    generated = {path: text.encode() for path, text in files.items()}
    return Content(form, generated, shared, {"src/main.c": once.encode()}, {"name": "tiny"})


def tree(path: Path) -> dict[str, str]:
    return {p.relative_to(path).as_posix(): p.read_text() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up while the third file is written."""
    written: list[Path] = []
    write = folder._write

    def failing(path: Path, data: bytes) -> None:
        written.append(path)
        write(path, data[: len(data) // 2] if len(written) == 3 else data)
        if len(written) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_write", failing)


def test_fresh_folder(tmp_path: Path) -> None:
    write_folder(content({"lib/a.c": "a"}), tmp_path / "x" / "y")
    assert set(tree(tmp_path / "x" / "y")) == {"lib/a.c", "p.ini", "src/main.c", MANIFEST}
    assert read_about(tmp_path / "x" / "y") == {"name": "tiny"}
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["y"]


@pytest.mark.usefixtures("full_disk")
def test_fresh_folder_that_fails_is_not_left_behind(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"y: cannot write: No space left on device"):
        write_folder(content({"lib/a.c": "a", "b": "b"}), tmp_path / "x" / "y")
    assert list(tmp_path.iterdir()) == []


def test_failing_update_changes_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    write_folder(content({"lib/a.c": "a", "lib/b.c": "b", "lib/c.c": "c"}), tmp_path)
    before = tree(tmp_path)
    request.getfixturevalue("full_disk")
    with pytest.raises(FolderError, match="No space left"):
        write_folder(content({"lib/a.c": "A", "lib/b.c": "B", "lib/c.c": "C"}), tmp_path)
    assert tree(tmp_path) == before


def test_interrupted_update_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(content({"lib/a.c": "a", "lib/old.c": "old"}), tmp_path)
    replaced: list[Path] = []
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        replaced.append(target)
        if len(replaced) == 3:
            raise KeyboardInterrupt
        return replace(self, target)

    new = content({"lib/a.c": "A", "lib/new.c": "new", "lib/new2.c": "new2"})
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(new, tmp_path)
    monkeypatch.setattr(Path, "replace", replace)
    write_folder(new, tmp_path)
    assert set(tree(tmp_path)) == {"lib/a.c", "lib/new.c", "lib/new2.c", "p.ini", "src/main.c", MANIFEST}


def test_what_does_not_change_keeps_its_time_stamp(tmp_path: Path) -> None:
    write_folder(content({"a": "a", "b": "b"}), tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    write_folder(content({"a": "a", "b": "B"}), tmp_path)
    after = {p: p.stat().st_mtime_ns for p in before}
    assert {p.name for p in before if before[p] != after[p]} == {"b", MANIFEST}


def test_stale_files_go_and_the_users_stay(tmp_path: Path) -> None:
    write_folder(content({"lib/a/old.c": "old", "lib/b.c": "b"}), tmp_path)
    (tmp_path / "lib" / "mine.c").write_text("mine")
    (tmp_path / "src" / "main.c").write_text("my main")
    write_folder(content({"lib/b.c": "b"}), tmp_path)
    assert set(tree(tmp_path)) == {"lib/b.c", "lib/mine.c", "p.ini", "src/main.c", MANIFEST}
    assert not (tmp_path / "lib" / "a").exists()
    assert (tmp_path / "src" / "main.c").read_text() == "my main"


def test_a_file_written_once_is_renewed_until_the_user_changes_it(tmp_path: Path) -> None:
    main = tmp_path / "src" / "main.c"
    write_folder(content({}, once="one"), tmp_path)
    write_folder(content({}, once="two"), tmp_path)
    assert main.read_text() == "two"
    main.write_text("mine")
    for once in ("three", "two"):
        write_folder(content({}, once=once), tmp_path)
        assert main.read_text() == "mine"
    main.unlink()
    write_folder(content({}, once="four"), tmp_path)
    write_folder(content({}, once="five"), tmp_path)
    assert main.read_text() == "five"


def test_a_file_written_once_that_no_manifest_lists_is_the_users(tmp_path: Path) -> None:
    write_folder(content({}, once="one"), tmp_path)
    (tmp_path / MANIFEST).write_text('{"format": "project", "files": {}}')
    write_folder(content({}, once="two"), tmp_path)
    assert (tmp_path / "src" / "main.c").read_text() == "one"


def test_files_written_once_under_other_names(tmp_path: Path) -> None:
    """The example of a library by another name goes, unless it is the user's."""
    for path in ("examples/a/main.c", "examples/b/main.c", "examples/c/main.c"):
        write_folder(Content("project", {}, {}, {path: path.encode()}, {}), tmp_path)
        if "b" in path:
            (tmp_path / path).write_text("mine")
    assert {p: t for p, t in tree(tmp_path).items() if p != MANIFEST} == {
        "examples/b/main.c": "mine",
        "examples/c/main.c": "examples/c/main.c",
    }


@pytest.mark.parametrize("line", ["#include <old.h>", ' # include "tflm/old.h" /* the model */'])
def test_a_kept_file_that_includes_what_goes(tmp_path: Path, line: str) -> None:
    write_folder(content({"lib/old.h": "", "lib/all.h": ""}), tmp_path)
    (tmp_path / "src" / "main.c").write_text(f"#include <all.h>\n{line}\nint main(void) {{}}\n")
    before = tree(tmp_path)
    with pytest.raises(FolderError, match=r"src/main\.c: has been changed, so it is kept, but it includes old\.h"):
        write_folder(content({"lib/new.h": "", "lib/all.h": ""}), tmp_path)
    assert tree(tmp_path) == before
    write_folder(content({"lib/old.h": "other", "lib/all.h": ""}), tmp_path)


def test_users_part_of_a_shared_file_stays(tmp_path: Path) -> None:
    write_folder(content({}, "a = 1"), tmp_path)
    ini = tmp_path / "p.ini"
    ini.write_text("; before\n" + ini.read_text().replace("yours", "[env:mine]"))
    write_folder(content({}, "a = 2"), tmp_path)
    assert ini.read_text() == f"; before\n{BEGIN}\na = 2\n{END}\n[env:mine]\n"


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_shared_file_without_our_part_is_not_touched(tmp_path: Path, text: str) -> None:
    write_folder(content({}), tmp_path)
    (tmp_path / "p.ini").write_text(text)
    before = tree(tmp_path)
    with pytest.raises(FolderError, match=r"p\.ini: has no part between"):
        write_folder(content({}), tmp_path)
    assert tree(tmp_path) == before


def test_a_users_file_is_never_overwritten(tmp_path: Path) -> None:
    write_folder(content({}), tmp_path)
    (tmp_path / "plan.json").write_text("my own plan")
    before = tree(tmp_path)
    with pytest.raises(FolderError, match=r"plan\.json: stands where a generated file belongs"):
        write_folder(content({"plan.json": "{}"}), tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("first", "second"), [("project", "cmake"), ("cmake", "project"), ("cmake", "plain")])
def test_a_folder_holds_one_format(tmp_path: Path, first: str, second: str) -> None:
    write_folder(content({"lib/a.c": "a"}, form=first), tmp_path)
    (tmp_path / "p.ini").write_text((tmp_path / "p.ini").read_text() + "[env:mine]\n")
    before = tree(tmp_path)
    with pytest.raises(FolderError, match=rf"in another format \({first}, not {second}\)"):
        write_folder(content({"b.c": "b"}, form=second), tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("about", "form"), [({"board": "host"}, "project"), ({"format": "cmake"}, "cmake")], ids=["project", "export"]
)
def test_formats_of_older_manifests(tmp_path: Path, about: Mapping[str, str], form: str) -> None:
    write_folder(content({"lib/a.c": "a"}, form=form), tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    del manifest["format"]
    (tmp_path / MANIFEST).write_text(json.dumps({**manifest, **about}))
    with pytest.raises(FolderError, match="in another format"):
        write_folder(content({}, form="plain"), tmp_path)
    write_folder(content({"lib/b.c": "b"}, form=form), tmp_path)
    assert set(tree(tmp_path)) == {"lib/b.c", "p.ini", "src/main.c", MANIFEST}


@pytest.mark.parametrize("name", ["notes.txt", ".git", "src"])
def test_a_folder_of_the_users_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(FolderError, match="is not empty, and not of tflmgen's making"):
        write_folder(content({}), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / ".tflmgen-abc").mkdir()  # of a process that was killed
    write_folder(content({"a": "a"}), tmp_path)
    assert set(tree(tmp_path)) == {"a", "p.ini", "src/main.c", MANIFEST}


def test_generated_files_that_the_user_has_changed_are_not_removed(tmp_path: Path) -> None:
    """Neither such a file, nor the user's part of a file that is generated in part."""
    write_folder(content({"lib/old.c": "old", "lib/gone.c": "gone"}), tmp_path)
    (tmp_path / "lib" / "old.c").write_text("mine")
    (tmp_path / "lib" / "gone.c").unlink()
    ini = (tmp_path / "p.ini").read_text() + "[env:mine]\n"
    (tmp_path / "p.ini").write_text(ini)
    kept = write_folder(Content("project", {}, {}, {}, {}), tmp_path)
    assert kept == ("lib/old.c", "p.ini")
    assert tree(tmp_path) == {"lib/old.c": "mine", "p.ini": ini, MANIFEST: tree(tmp_path)[MANIFEST]}


def test_what_is_kept_is_told(tmp_path: Path) -> None:
    assert write_folder(content({}), tmp_path) == ()
    assert write_folder(content({}), tmp_path) == ()
    (tmp_path / "src" / "main.c").write_text("mine")
    for files in ({}, {}, {"a": "a"}):
        assert write_folder(content(files), tmp_path) == ("src/main.c",)


@pytest.mark.parametrize("text", ["", "[]", '{"files": {"lib/mine.c": ""}}'])
def test_a_manifest_that_names_no_format_removes_nothing(tmp_path: Path, text: str) -> None:
    write_folder(content({"lib/mine.c": "a"}), tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    write_folder(content({}), tmp_path)
    assert (tmp_path / "lib" / "mine.c").read_text() == "a"


@pytest.mark.parametrize("path", ["../outside", "lib/../../outside", "/ABSOLUTE"])
def test_manifest_cannot_name_files_outside(tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    inside = tmp_path / "project"
    write_folder(content({"a": "a"}), inside)
    forged = {"format": "project", "files": {path.replace("/ABSOLUTE", str(outside)): ""}}
    (inside / MANIFEST).write_text(json.dumps(forged))
    write_folder(content({"a": "a"}), inside)
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"files": {"": ""}}', "\0"])
def test_damaged_manifest(tmp_path: Path, text: str) -> None:
    write_folder(content({"a": "a"}), tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    write_folder(content({"a": "a"}), tmp_path)
    assert json.loads((tmp_path / MANIFEST).read_text())["files"].keys() == {"a", "p.ini"}


def test_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(FolderError, match=r"x: exists and is not a folder"):
        write_folder(content({}), tmp_path / "x")


def test_parent_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(FolderError, match="cannot write"):
        write_folder(content({}), tmp_path / "x" / "y")


def test_two_builds_at_once_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one neither mixes its files with the first one's nor, as it fails, removes what that one makes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with kept_if_whole(tmp_path / "x"):
        write_folder(content({"a": "a"}), tmp_path / "x")
        before = tree(tmp_path / "x")
        with pytest.raises(FolderError, match=r"x: another tflmgen is writing there"), kept_if_whole(tmp_path / "x"):
            pytest.fail("the folder has two writers")
        with kept_if_whole(tmp_path / "y"):
            write_folder(content({"b": "b"}), tmp_path / "y")
    assert tree(tmp_path / "x") == before
    with kept_if_whole(tmp_path / "x"):
        write_folder(content({"a": "b"}), tmp_path / "x")
    assert tree(tmp_path / "x") != before
    assert list(user_cache.cache_folder("locks").iterdir()) == []


def test_a_cache_that_cannot_be_written_keeps_nobody_from_building(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with kept_if_whole(tmp_path / "x"):
        write_folder(content({"a": "a"}), tmp_path / "x")
    assert (tmp_path / "x" / "a").exists()
