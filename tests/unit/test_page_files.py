"""The files of the page: how they are handed out, and what they may not do."""

import gzip
import hashlib
import json
import re
import shlex

import click
import pytest

from node.cli import main
from node.explorer.page_files import PageFiles
from node.primitives.crypto import dev_private_key, public_key_address

STATIC = PageFiles.FOLDER
COMPRESSED_BYTES_MAX = 200 << 10
PACKED = {"Accept-Encoding": "gzip, deflate, br"}
OURS = {
    path.relative_to(STATIC).as_posix(): path.read_text()
    for path in sorted(STATIC.rglob("*"))
    if path.suffix in {".js", ".html", ".css"} and path.parent.name != "vendor"
}
VENDORED = json.loads((STATIC / "vendor" / "vendored.json").read_text())


def prefix_of(files):
    page = files.answer("/", {}).body.decode()
    return re.search(r'src="(/static/[0-9a-f]{16}/)main\.js"', page)[1]


# --- how they are handed out ---------------------------------------------------------


def test_the_page_is_asked_for_anew_and_all_else_is_kept():
    """What the page names is under the digest of all files: it never changes."""
    files = PageFiles()
    page = files.answer("/", {})
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Cache-Control"] == "no-cache"
    script = files.answer(prefix_of(files) + "main.js", {})
    assert script.body == (STATIC / "main.js").read_bytes()
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "immutable" in script.headers["Cache-Control"]


def test_who_has_it_already_is_told_so():
    files = PageFiles()
    tag = files.answer("/", {}).headers["ETag"]
    again = files.answer("/", {"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert files.answer("/", {"If-None-Match": '"other"'}).status == 200


def test_it_is_packed_for_who_can_unpack_it():
    files = PageFiles()
    path = prefix_of(files) + "style.css"
    plain, packed = files.answer(path, {}), files.answer(path, PACKED)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.body) == plain.body
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


def test_another_file_gives_all_of_them_another_path(tmp_path):
    (tmp_path / "index.html").write_text('<script src="/static/main.js"></script>')
    (tmp_path / "main.js").write_text("1")
    before = prefix_of(PageFiles(tmp_path))
    (tmp_path / "main.js").write_text("2")
    after = PageFiles(tmp_path)
    assert prefix_of(after) != before
    assert after.answer(before + "main.js", {}) is None


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/static/",
        "/static/main.js",
        "/static/0000000000000000/main.js",
        "PREFIX",
        "PREFIX../page_files.py",
        "PREFIX..%2fpage_files.py",
        "PREFIX/main.js",
        "PREFIXvendor",
        "PREFIXmain.js\0",
    ],
)
def test_no_other_path_leads_to_a_file(path):
    files = PageFiles()
    assert files.answer(path.replace("PREFIX", prefix_of(files)), {}) is None


def test_every_answer_keeps_other_hosts_scripts_and_frames_out():
    """Content-Security-Policy without `unsafe-inline`; no request leaves the origin."""
    files = PageFiles()
    for path in ("/", "/favicon.ico", prefix_of(files) + "main.js"):
        headers = files.answer(path, {}).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


# --- what they are -------------------------------------------------------------------


def test_all_of_it_together_is_under_200_kib_on_the_wire():
    files = PageFiles()
    start = prefix_of(files)
    names = [p.relative_to(STATIC).as_posix() for p in STATIC.rglob("*") if p.is_file()]
    paths = ["/", *(start + name for name in names if "LICENSE" not in name)]
    assert sum(len(files.answer(p, PACKED).body) for p in paths) < COMPRESSED_BYTES_MAX


@pytest.mark.parametrize("entry", VENDORED, ids=lambda entry: entry["file"])
def test_what_others_wrote_is_as_they_published_it_with_its_licence(entry):
    folder = STATIC / "vendor"
    digest = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    assert digest == entry["sha256"]
    for name in entry["licences"]:
        text = (folder / name).read_text()
        assert "Permission is hereby granted" in text or "Apache License" in text


def test_nothing_of_others_is_there_without_a_hash():
    known = {"vendored.json"}
    for entry in VENDORED:
        known |= {entry["file"], *entry["licences"]}
    assert {path.name for path in (STATIC / "vendor").iterdir()} == known


def test_no_module_of_ours_makes_html_of_text_or_names_another_host():
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write"
        r"|\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)"
    )
    assert forbidden.search("element.innerHTML = text")
    found = {name: forbidden.findall(text) for name, text in OURS.items()}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_every_module_that_is_named_is_there_and_every_one_is_named():
    named = {"main.js", "index.html", "style.css"}
    for name, text in OURS.items():
        here = (STATIC / name).parent
        for path in re.findall(r"""(?:from|import\(|URL\()\s*'(\.[^']+)'""", text):
            assert (here / path).is_file(), f"{name} names {path}"
            named.add((here / path).resolve().relative_to(STATIC).as_posix())
        for path in re.findall(r'"/static/([^"]+)"', text):
            assert (STATIC / path).is_file(), f"{name} names {path}"
    assert set(OURS) - named == set()


COMMANDS = re.findall(
    r"command=(?:\"|\$\{`)cowboy-devnet ([^\"`]+)[\"`]",
    "\n".join(text for name, text in OURS.items() if name.startswith("views/")),
)


@pytest.mark.parametrize("line", COMMANDS)
def test_what_the_page_says_to_type_is_a_command(line):
    """Empty states say what to type next."""
    address = "0x" + "ab" * 20
    line = line.replace("${height}", "5").replace("${digits}", address)
    words = line.replace("0x…", address).replace("ACTOR", address)
    name, *arguments = shlex.split(words.replace("HANDLER", "tick"))
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None, line
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.get_command(context, name)
        assert command is not None, line
    command.make_context(name, arguments, parent=context)


def test_the_page_says_what_to_type():
    assert len(COMMANDS) >= 8


def test_the_named_accounts_are_the_development_accounts():
    text = OURS["lib/labels.js"]
    named = re.findall(r"'0x([0-9a-f]{40})'", text)
    keys = [dev_private_key(index) for index in range(len(named))]
    assert [public_key_address(key).hex() for key in keys] == named
    assert len(named) == 10
