"""tools/check_words.py finds avoided words in prose that people read, at their lines, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "check_words.py"
LIST = ("# a comment\nbeside -> next to\ntells?|told -> reports\nat once -> concurrently\n"
        "allow docs/*: told you -> why\n")


def check(root: Path, files: dict[str, str], *options: str, words: str = LIST) -> tuple[int, list[str]]:
    """Exit code and printed lines for a repository of these files."""
    subprocess.run(["git", "init", "-q", root], check=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    listed = root / "list.words"
    listed.write_text(words, encoding="utf-8")
    done = subprocess.run([sys.executable, CHECKER, *options, "--words", listed, root], capture_output=True, text=True,
                          check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_strings_of_cpp_are_checked_across_adjacent_literals(tmp_path):
    text = ('#include "beside tells"\nint tells;\nfail("it lies beside "\n     "it, all at "\n     "once");\n'
            'key("tells");\n')
    assert check(tmp_path, {"a.cpp": text}) == (
        1, ["a.cpp:3: beside -> next to", "a.cpp:4: at once -> concurrently"])


def test_names_in_cpp_that_may_be_keys_of_json_are_checked(tmp_path):
    text = 'json = {{"reds", 1}, {"a_blue_b", {"x"}}};\njson["all_at_last"] = reds["red_x"];\nf("reds", x);\n'
    assert check(tmp_path, {"a.cpp": text}, words="blue -> green\nreds? -> pink\nat last -> finally\n") == (
        1, ["a.cpp:1: blue -> green", "a.cpp:1: reds -> pink", "a.cpp:2: at last -> finally", "a.cpp:2: red -> pink"])


def test_comments_are_checked_on_request(tmp_path):
    files = {"a.h": '// it tells\nchar c = \'"\';  // beside "x"\n', "b.py": "# it told\nx = 1\n"}
    assert check(tmp_path, files) == (0, [])
    assert check(tmp_path, files, "--comments") == (
        1, ["a.h:1: tells -> reports", "a.h:2: beside -> next to", "b.py:1: told -> reports"])


def test_docstrings_and_prose_of_python_are_checked_but_names_are_not(tmp_path):
    text = '"""It tells."""\n\n\ndef tells(beside):\n    told = "tells"\n    return f"é: {beside} it\\n" "told to"\n'
    assert check(tmp_path, {"a.py": text}) == (1, ["a.py:1: tells -> reports", "a.py:6: told -> reports"])


def test_code_and_links_of_markdown_are_not_checked_but_its_comments_are(tmp_path):
    text = "# Beside\n`tells` [a](tells.md)\n```\ntells --it   # it tells\n```\nall at\nonce\n"
    assert check(tmp_path, {"docs/a.md": text}) == (
        1, ["docs/a.md:1: Beside -> next to", "docs/a.md:4: tells -> reports", "docs/a.md:6: at once -> concurrently"])


def test_text_of_html_and_strings_of_javascript_are_checked(tmp_path):
    files = {"a.html": "<p class='tells it'>\nit tells</p>\n", "b.js": "tells(`it\n told ${x}`, 'beside')\n"}
    assert check(tmp_path, files) == (1, ["a.html:2: tells -> reports", "b.js:2: told -> reports"])


def test_strings_and_comments_of_shell_cmake_and_toml_are_checked(tmp_path):
    files = {"a.sh": "# all at\n# once\nx=${y#told} # don't\necho 'it told'\n",
             "CMakeLists.txt": 'set(told "a\nbeside")\n',
             "b.toml": 'told = "beside"\ntext = "is beside"\n', "c.ini": "x: told\n"}
    strings = ["CMakeLists.txt:2: beside -> next to", "a.sh:4: told -> reports", "b.toml:2: beside -> next to",
               "c.ini:1: told -> reports"]
    assert check(tmp_path, files) == (1, strings)
    assert check(tmp_path, files, "--comments") == (1, [strings[0], "a.sh:1: at once -> concurrently", *strings[1:]])


def test_only_names_of_tests_are_checked(tmp_path):
    files = {"a_test.cpp": 'TEST_CASE("it told", "[x]") {\n  SECTION("beside") x("it tells");  // it told\n}\n',
             "tests/a.py": "'it told'\n\n\ndef told():\n    pass\n\n\ndef test_all_at_once(told):\n    pass\n"}
    assert check(tmp_path, files, "--comments") == (
        1, ["a_test.cpp:1: told -> reports", "a_test.cpp:2: beside -> next to",
            "tests/a.py:8: at once -> concurrently"])


def test_exceptions_and_history_are_skipped(tmp_path):
    files = {"docs/a.md": "We told you.\n", "CHANGELOG.md": "told\n", "x/vendor/a.md": "told",
             "fuzz/a.cpp": "'it told'"}
    assert check(tmp_path, files) == (0, [])


def test_summary_counts_findings_per_folder(tmp_path):
    files = {"unstarve/core/x/a.cpp": 'x("it told it tells");', "b.md": "beside\n"}
    assert check(tmp_path, files, "--summary") == (1, ["     1 b.md", "     2 unstarve/core", "     3 in all"])


@pytest.mark.parametrize("line", ["told", "told -> ", "to(ld -> x", "allow docs told -> why"])
def test_a_malformed_word_list_is_rejected_with_its_line(tmp_path, line):
    code, lines = check(tmp_path, {}, words=f"a -> b\n{line}\n")
    assert code == 2 and "list.words:2: " in lines[0], lines


def test_the_word_list_of_the_project_is_well_formed(tmp_path):
    code, lines = check(tmp_path, {"a.md": "It lies beside the file.\n"},
                        words=(CHECKER.parent / "words.txt").read_text())
    assert code == 1 and [line.split(" -> ")[0] for line in lines] == ["a.md:1: beside", "a.md:1: lies"]
