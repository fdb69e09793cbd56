"""Annotations of GitHub Actions, as its toolkit would write them."""

from pathlib import PurePosixPath, PureWindowsPath

import pytest

from node.primitives.github_commands import Annotation, annotation

FILE = PurePosixPath("actors/shop.py")


def read(line):
    """As GitHub's runner reads a command: name, properties, message."""
    assert line.startswith("::")
    head, _, message = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    return (
        name,
        {
            key: unescaped(value, {**ESCAPES, "%3A": ":", "%2C": ","})
            for key, _, value in (one.partition("=") for one in properties.split(","))
        },
        unescaped(message, ESCAPES),
    )


ESCAPES = {"%0D": "\r", "%0A": "\n"}


def unescaped(text, escapes):
    for written, meant in escapes.items():
        text = text.replace(written, meant)
    return text.replace("%25", "%")


def test_it_names_the_place():
    place = Annotation(FILE, line=3, end_line=3, column=5, end_column=9, title="dear")
    assert annotation("warning", place, "costs more") == (
        "::warning file=actors/shop.py,line=3,endLine=3,col=5,endColumn=9,title=dear"
        "::costs more"
    )


def test_what_is_not_known_is_left_out():
    assert annotation("error", Annotation(FILE), "no") == (
        "::error file=actors/shop.py::no"
    )


@pytest.mark.parametrize(
    "text", ["two\nlines", "a\r\nb", "50 % of 9", "a::b, c:d", "%0A", "naïve — ☃"]
)
def test_any_text_comes_back_and_stays_one_line(text):
    line = annotation("notice", Annotation(FILE, line=1, title=text), text)
    assert len(line.splitlines()) == 1
    assert read(line) == (
        "notice",
        {"file": "actors/shop.py", "line": "1", "title": text},
        text,
    )


def test_a_path_of_windows_has_forward_slashes():
    place = Annotation(PureWindowsPath("actors\\shop.py"))
    assert annotation("error", place, "no") == "::error file=actors/shop.py::no"
