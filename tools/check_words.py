#!/usr/bin/env python3
"""Finds words that the project's style avoids in what users and contributors read.

    tools/check_words.py [--comments] [--summary] [ROOT]

Checked are Markdown files, string literals of C++ and JavaScript that hold prose (at least one blank), strings of C++
that begin a braced list or are an index, such as keys of JSON, docstrings and prose strings of Python, the text of
HTML, prose strings of shell, CMake and TOML files, and INI files. Of tests only the names are checked. With --comments,
comments are checked too. The words and the accepted exceptions are in tools/words.txt. Prints `FILE:LINE: word ->
suggestion` for each finding, or with --summary the number of findings per folder. Exit code: 0 nothing found, 1
findings, 2 a malformed word list or a folder outside of a git checkout.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from git_files import git_files

WORDS = Path(__file__).resolve().parent / "words.txt"
CPP = (".h", ".cpp", ".cu", ".cuh", ".inl")
HASH = (".sh", ".cmake", ".toml", "CMakeLists.txt", "Makefile")  # comments begin with #
ENDINGS = (*CPP, ".py", ".js", ".html", ".md", ".ini", *HASH)
# History keeps its wording, other people's files are theirs.
SKIPPED = ("CHANGELOG.md", "*/vendor/*", "fuzz/*", "tools/check_words.py", "*/_core.pyi",
           "tests/python/tools/test_check_words.py")
TESTS = ("*_test.cpp", "tests/*")  # they quote what they check
TEST_NAME = re.compile(r'\b(?:TEST_CASE|SECTION)\(\s*"([^"\n]*)"|^\s*def (test_\w+)', re.MULTILINE)

# A comment, a raw string, a string or a character literal; whichever begins first.
CPP_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|R"(?P<mark>[^()\\\s]*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)
# {"key", value} or json["key"]; its words are separated by underscores.
CPP_KEY = re.compile(r'[{\[]\s*"([a-z][a-z0-9_]*)"(?=\s*[,\]}])')
# A comment at the begin of a word, or a string.
HASH_TOKEN = re.compile(
    r"""(?P<comment>(?<!\S)#[^\n]*)|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^'\n]*)'""", re.DOTALL)
JS_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|"(?P<double>(?:[^"\\\n]|\\.)*)"'
    r"|'(?P<single>(?:[^'\\\n]|\\.)*)'"
    r"|`(?P<template>(?:[^`\\]|\\.)*)`",
    re.DOTALL,
)


@dataclass(frozen=True)
class Rule:
    """A pattern with what to write instead."""

    pattern: re.Pattern[str]
    suggestion: str


@dataclass(frozen=True)
class Allowed:
    """A pattern that is accepted in the files of a glob."""

    files: str
    pattern: re.Pattern[str]


def compiled(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text.strip()})\b".replace(" ", r"\s+"), re.IGNORECASE)


def read_words(path: Path) -> tuple[list[Rule], list[Allowed]]:
    """The rules and exceptions of a word list. Raises ValueError for a malformed line."""
    rules, allowed = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        left, arrow, right = line.partition(" -> ")
        if not arrow or not right.strip():
            raise ValueError(f"{path}:{number}: expected PATTERN -> SUGGESTION, or allow FILES: PATTERN -> REASON")
        try:
            if left.startswith("allow "):
                files, _, pattern = left.removeprefix("allow ").partition(": ")
                if not pattern:
                    raise ValueError(f"{path}:{number}: expected allow FILES: PATTERN -> REASON")
                allowed.append(Allowed(files, compiled(pattern)))
            else:
                rules.append(Rule(compiled(left), right.strip()))
        except re.error as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return rules, allowed


def blank(text: str) -> str:
    """White space of the same length with the same line ends."""
    return re.sub(r"[^\n]", " ", text)


def masked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with everything outside of the spans blanked, so that offsets and lines stay."""
    parts, end = [], 0
    for start, stop in sorted(spans):
        if start < end:
            continue
        parts += [blank(text[end:start]), text[start:stop]]
        end = stop
    return "".join([*parts, blank(text[end:])])


def of_tokens(text: str, token: re.Pattern[str], strings: tuple[str, ...], comments: bool) -> str:
    """Prose in string literals; literals with only white space between them count as one."""
    spans, group = [], []

    def flush() -> None:
        if any(re.search(r"\w\s+\w", text[start:stop]) for start, stop in group):
            spans.extend(group)
        group.clear()

    end = 0
    for found in token.finditer(text):
        kind = found.lastgroup if found.lastgroup != "mark" else "raw"
        if group and text[end : found.start()].strip():
            flush()
        name = next((name for name in strings if found[name] is not None), None)
        if name is not None:
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if not line.lstrip().startswith("#"):  # #include "..."
                group.append(found.span(name))
        elif kind == "comment" and comments:
            flush()
            spans.append(found.span())
        end = found.end()
    flush()
    result = masked(text, spans)
    # A comment of several lines is one text.
    return re.sub(r"^(\s*)(?://|#)", lambda found: blank(found[0]), result, flags=re.MULTILINE) if comments else result


def of_python(text: str, comments: bool) -> str:
    """Docstrings and strings with a blank in them, and comments."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()

    def offset(line: int, column: int) -> int:
        return len(data[: starts[line - 1] + column].decode())

    spans = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            assert node.end_lineno is not None and node.end_col_offset is not None
            span = (offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset))
            if re.search(r"\w\s+\w", text[span[0] : span[1]]):
                spans.append(span)
    if comments:
        spans += [found.span() for found in re.finditer(r"^\s*#[^\n]*", text, re.MULTILINE)]
    result = masked(text, spans)
    return re.sub(r"\{[^{}\n]*\}|``[^`]*``|`[^`\n]*`", lambda found: blank(found[0]), result)


def of_tests(text: str) -> str:
    """Names of test cases and functions."""
    return masked(text, [found.span(found.lastindex or 0) for found in TEST_NAME.finditer(text)]).replace("_", " ")


def of_markdown(text: str) -> str:
    """Without inline code, link targets and code blocks, of which only comments count."""
    lines, fenced = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            lines.append(blank(line))
        elif fenced:
            comment = re.search(r"(?:^|\s)(#|//)\s", line)
            lines.append(blank(line[: comment.start()]) + line[comment.start() :] if comment else blank(line))
        else:
            lines.append(line)
    return re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+", lambda found: blank(found[0]), "".join(lines))


def prose_of(name: str, text: str, comments: bool) -> str:
    """What is read by people in this file; everything else is blank."""
    if any(fnmatch.fnmatch(name, pattern) for pattern in TESTS):
        return of_tests(text)
    if name.endswith(".ini"):
        return text
    if name.endswith(HASH):
        return of_tokens(text, HASH_TOKEN, ("double", "single"), comments)
    if name.endswith(".md"):
        return of_markdown(text)
    if name.endswith(".py"):
        return of_python(text, comments)
    if name.endswith(".js"):
        return of_tokens(text, JS_TOKEN, ("double", "single", "template"), comments)
    if name.endswith(".html"):
        return re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", lambda found: blank(found[0]), text, flags=re.DOTALL)
    prose = of_tokens(text, CPP_TOKEN, ("raw", "text"), comments)
    for found in CPP_KEY.finditer(text):
        start, end = found.span(1)
        prose = prose[:start] + found[1].replace("_", " ") + prose[end:]
    return prose


def findings(name: str, prose: str, rules: list[Rule], allowed: list[Allowed]) -> Iterator[tuple[int, str, str]]:
    """Line, word and suggestion of each finding."""
    accepted = [found.span() for entry in allowed if fnmatch.fnmatch(name, entry.files)
                for found in entry.pattern.finditer(prose)]
    for rule in rules:
        for found in rule.pattern.finditer(prose):
            if not any(start <= found.start() and found.end() <= stop for start, stop in accepted):
                yield prose.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), rule.suggestion


def folder_of(name: str) -> str:
    """Two levels at most: unstarve/storage, docs, README.md."""
    return "/".join(name.split("/")[:-1][:2]) or name


def main() -> int:
    parser = argparse.ArgumentParser(description="Finds words that the project's style avoids.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--comments", action="store_true", help="check comments too")
    parser.add_argument("--summary", action="store_true", help="print the number of findings per folder")
    parser.add_argument("--words", type=Path, default=WORDS, help="the word list")
    options = parser.parse_args()
    try:
        rules, allowed = read_words(options.words)
        names = [name for name in git_files(options.root, ENDINGS)
                 if not any(fnmatch.fnmatch(name, pattern) for pattern in SKIPPED)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    for name in names:
        text = (options.root / name).read_text(encoding="utf-8")
        for line, word, suggestion in sorted(findings(name, prose_of(name, text, options.comments), rules, allowed)):
            counts[folder_of(name)] += 1
            if not options.summary:
                print(f"{name}:{line}: {word} -> {suggestion}")
    if options.summary:
        for folder, count in sorted(counts.items()):
            print(f"{count:6} {folder}")
        print(f"{counts.total():6} in all")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
