"""Watches before.py, workers.py and after.py, and prints what docs/guide/watch.md shows of them, as Markdown.

    python examples/slow_to_fast/run.py PHOTOS [--unstarve PATH] [--seconds S] [--rounds N] [--guide FILE]

PHOTOS has a folder per class with JPEG files. For each script: the command, the findings of `unstarve watch`, the
change as a diff, and `unstarve compare` of the runs before and after it. With several rounds, the scripts run in turn,
and the steps per second of all rounds follow; outputs are those of the last one. --guide replaces the blocks and the
table of FILE between the marks of this script instead of printing them. python examples/slow/common.py FOLDER makes
FOLDER/photos.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Steps per second on two cores, for the number of steps; only the duration of the runs depends on it.
SCRIPTS = {"before.py": 14, "workers.py": 24, "after.py": 120}


def watch(unstarve, folder, script, photos, steps):
    """The text that `watch` prints, and what it writes to NAME.json."""
    out = folder / f"{Path(script).stem}.json"
    command = [unstarve, "watch", "--out", out, "--", sys.executable, HERE / script, photos, "--steps", str(steps)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"watch {script}: exit code {done.returncode}; {done.stderr}")
    return done.stderr.strip(), json.loads(out.read_text())


def compare(unstarve, folder, before, after):
    done = subprocess.run([unstarve, "compare", f"{Path(before).stem}.json", f"{Path(after).stem}.json"], cwd=folder,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or sys.exit(done.stderr)


def diff(before, after):
    lines = difflib.unified_diff((HERE / before).read_text().splitlines(), (HERE / after).read_text().splitlines(),
                                 before, after, lineterm="", n=1)
    return "\n".join(lines)


def shortened(text):
    """The findings and the line with the steps, without the tables of processes."""
    findings = re.split(r"\n\n(?=process )", text)[0]
    steps = re.search(r"^steps, from .*$", text, re.MULTILINE)
    return findings + ("\n...\n" + steps[0] if steps else "")


def replaced(guide, blocks):
    """The text of the guide with other blocks and another table between the marks."""
    before, begin, rest = guide.partition("<!-- examples/slow_to_fast/run.py -->")
    section, end, after = rest.partition("<!-- end -->")
    found = re.findall(r"^```\w+\n.*?^```$|^\| script .*?(?=\n\n)", section, re.DOTALL | re.MULTILINE)
    if not end or len(found) != len(blocks):
        sys.exit(f"found {len(found)} blocks between the marks of the guide; expected {len(blocks)}")
    for old, new in zip(found, blocks, strict=True):
        section = section.replace(old, new, 1)
    return before + begin + section + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path)
    parser.add_argument("--unstarve", type=Path, metavar="PATH",
                        default=Path(os.environ.get("UNSTARVE", HERE.parents[1] / "build" / "unstarve")))
    parser.add_argument("--seconds", type=float, default=25, help="of each run, about; default: 25")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each script; default: 1")
    parser.add_argument("--guide", type=Path, metavar="FILE", help="docs/guide/watch.md: is updated")
    given = parser.parse_args()
    if shutil.which(given.unstarve) is None:
        parser.error(f"run {given.unstarve}: no such program. Build it (make build) or set --unstarve.")
    unstarve, photos = given.unstarve.resolve(), given.photos.resolve()
    texts, rates = {}, {script: [] for script in SCRIPTS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for _ in range(given.rounds):
            for script, per_second in SCRIPTS.items():
                steps = max(int(per_second * given.seconds), 10)
                texts[script], result = watch(unstarve, folder, script, photos, steps)
                rates[script].append(result["profile"]["steps"]["rate"])
        blocks, previous = [], None
        for script in SCRIPTS:
            name = Path(script).stem
            if previous:
                blocks.append(f"```diff\n{diff(previous, script)}\n```")
            blocks.append(f"```console\n$ unstarve watch --out {name}.json -- python {script} photos\n"
                          f"{shortened(texts[script])}\n```")
            if previous:
                blocks.append(f"```console\n$ unstarve compare {Path(previous).stem}.json {name}.json\n"
                              f"{compare(unstarve, folder, previous, script)}\n```")
            previous = script
    blocks.append("\n".join(["| script | steps per second |", "|---|---|",
                             *(f"| `{script}` | {', '.join(f'{value:.1f}' for value in values)} |"
                               for script, values in rates.items())]))
    if given.guide:
        given.guide.write_text(replaced(given.guide.read_text(), blocks))
    else:
        print("\n\n".join(blocks))


if __name__ == "__main__":
    main()
