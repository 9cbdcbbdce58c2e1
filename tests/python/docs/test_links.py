"""Every relative link of a Markdown page leads to a file, and its anchor to a heading of that file."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / name for name in subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True,
    check=False).stdout.split()] or sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def text_of(page):
    """Without code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def anchors(page):
    """The anchors that GitHub makes of headings."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", text_of(page), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.append(re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-"))
    return {f"{name}-{n}" if (n := found[:i].count(name)) else name for i, name in enumerate(found)}


def broken(page):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and (file.suffix != ".md" or anchor not in anchors(file))):
            wrong.append(target)
    return wrong


def test_the_pages_are_found():
    assert len(PAGES) > 40 and ROOT / "docs/guide/train.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# One: two `three`\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#one-two-three) [b](other.md#twice-1) [c](#none) [d](missing.md) [e](other.md#twice-2)"
                    "\n`[f](code.md)`\n")
    assert broken(page) == ["#none", "missing.md", "other.md#twice-2"]
