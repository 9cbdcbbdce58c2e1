#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks.md from build/bench.jsonl: one table per area, the latest row per comparison.

    tools/benchmarks_table.py                                prints all tables
    tools/benchmarks_table.py --area loader                  prints one table
    tools/benchmarks_table.py --update docs/benchmarks.md    replaces the tables between the markers of the file

A table is enclosed by two lines, for example `<!-- table:loader -->` and `<!-- /table -->`. The last column of a row
has the CPU, the options of the run and the date; `bench/run.py --only '^NAME$'` with these options repeats it. A row
that is in the document but not in bench.jsonl is kept, so that results of several machines can be combined; --replace
removes such rows. New rows follow existing ones.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Areas in the order of the document: (key, names of comparisons as a regular expression).
AREAS = (
    ("pipelines", r"imagenet-(train|train-indexed|eval)/.*"),
    ("python", r"imagenet-train-python/.*"),
    ("dataset", r"(dataset|dataset-first-epoch|functions)/.*"),
    ("memory", r"(cifar-train|packed-raw-256)/.*"),
    ("decoding", r"(decode-crop|entropy)\b.*"),
    ("passes", r"pass/.*"),
    ("operations", r"operation/.*"),
    ("kernels", r"(resize|randaugment)/.*"),
    ("reading", r"(tfrecord-read|tar-read|parquet-read|random-over-sequential|cold|remote)\b.*"),
    ("start", r"(folder-)?first-batch\b.*"),
    ("packing", r"pack-.*"),
    ("loader", r"(loader-overhead|scheduling|overlap-90|stragglers|python-iteration|two-threads|memory|warm)\b.*"),
    ("autotune", r"autotune/.*"),
    ("diagnosis", r"(watch-cost|slow-cases).*"),
    ("inference", r"(infer-.*|channel-prune-50)"),
    ("training", r"(train-.*|launch-cost.*|cifar94-gpu/published|checkpoint-cost.*|ranks-2)"),
)

START = re.compile(r"<!-- table:([a-z-]+) -->")
END = "<!-- /table -->"


def area_of(name):
    """Returns the area of a comparison. Raises ValueError if no area matches."""
    for area, pattern in AREAS:
        if re.fullmatch(pattern, name):
            return area
    raise ValueError(f"comparison '{name}' belongs to no area of tools/benchmarks_table.py. Add its name to AREAS.")


def read_lines(path):
    """Returns the objects of a JSON-lines file. Raises ValueError with file and line for an invalid line."""
    lines = []
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip():
            continue
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"read {path}: line {number} is not JSON: {error}") from None
    return lines


def latest(lines):
    """Returns the latest measured line of each comparison, by name. Lines of unavailable peers are ignored."""
    newest = {}
    for line in lines:
        if line.get("status") == "measured" and line.get("at", "") >= newest.get(line["name"], {}).get("at", ""):
            newest[line["name"]] = line
    return newest


def number(value):
    """Four significant digits, thousands separated by a space: 1.234, 12.34, 123.4, 1 234, 123 456."""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    digits = max(0, 4 - len(f"{int(abs(value))}"))
    return f"{value:.{digits}f}"


def ratio(line):
    return f"{line['ratio']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"


def run_of(line):
    """CPU, cores, options and date of a run."""
    machine = line.get("machine", {})
    name = re.sub(r"\((R|TM)\)| Processor$", "", machine.get("processor", "unknown CPU"))
    cpu = name + (f", {machine['cores']} cores" if "cores" in machine else "")
    seconds = f" --seconds {line['seconds']:g}" if "seconds" in line else ""
    return f"{cpu}, `--pairs {line['pairs']}{seconds}`, {line['at'][:10]}"


def default_cells(line):
    unit = "" if line["unit"] == "images/s" else " " + line["unit"]
    cpu = {} if "cpu_ratio" not in line else {
        "CPU time, ours to peer [95 %]": f"{line['cpu_ratio']:.3f} [{line['cpu_low']:.3f}, {line['cpu_high']:.3f}]"}
    return {"comparison": f"`{line['name']}`", "ours": number(line["ours"]) + unit,
            "peer": number(line["peer"]) + unit, "ratio [95 %]": ratio(line), **cpu,
            "machine and options": run_of(line)}


def operation_cells(line):
    images = line.get("settings", {}).get("images", "").replace("_", "-")
    peer = f"{line['peer_us']:.1f}" + (f", {images}" if images else "")
    return {"operation": f"`{line['name'].partition('/')[2]}`", "us": f"{line['ours_us']:.1f}", "peer, us": peer,
            "ratio [95 %]": ratio(line), "machine and options": run_of(line)}


def autotune_cells(line):
    best, ours = line["settings"], line["decided"]
    reads = f" and {best['read_ahead']} reads" if best.get("read_ahead") else ""
    return {"comparison": f"`{line['name']}`", "ours": number(line["ours"]), "best by hand": number(line["peer"]),
            "ratio [95 %]": ratio(line), "CPU per image, us: ours, best": f"{line['ours_cpu_us']:.1f}, "
            f"{line['peer_cpu_us']:.1f}",
            "threads, prefetch: best; ours": f"{best['threads']}, {best['prefetch']}{reads}; ours {ours['threads']}, "
            f"{ours['prefetch']}", "machine and options": run_of(line)}


CELLS = {"operations": operation_cells, "autotune": autotune_cells}


def cells_of(area, line):
    """Returns the cells of a measured line by column."""
    return CELLS.get(area, default_cells)(line)


def format_row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(rows):
    """Returns a Markdown table. `rows`: cells by column; columns missing in a row are empty."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if "machine and options" in columns:
        columns.append(columns.pop(columns.index("machine and options")))
    lines = [format_row(columns), "|" + "---|" * len(columns)]
    return "\n".join(lines + [format_row([row.get(column, "") for column in columns]) for row in rows])


def rows_by_area(lines):
    """Returns {area: [cells of the latest line of each comparison]}."""
    areas = {area: [] for area, _ in AREAS}
    for name, line in latest(lines).items():
        areas[area_of(name)].append(cells_of(area_of(name), line))
    return areas


def parse_table(text):
    """Returns the rows of a Markdown table as cells by column."""
    rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            for line in text.splitlines() if line.strip().startswith("|")]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[2:]] if rows else []


def merge(existing, new):
    """Replaces existing rows whose first cell equals that of a new row; other new rows follow."""
    def key(row):
        return next(iter(row.values()))

    by_key = {key(row): row for row in new}
    merged = [by_key.pop(key(row), row) for row in existing]
    return merged + list(by_key.values())


def update(document, areas, replace=False):
    """Returns the document with the tables between its markers replaced.

    Raises ValueError for an unknown area, an unterminated marker, or an area with rows but without markers.
    """
    out, seen = [], set()
    texts = iter(document.splitlines())
    for text in texts:
        out.append(text)
        match = START.fullmatch(text.strip())
        if not match:
            continue
        area = match.group(1)
        if area not in areas:
            raise ValueError(f"unknown area '{area}'; expected one of {', '.join(areas)}")
        block = []
        for inside in texts:
            if inside.strip() == END:
                break
            block.append(inside)
        else:
            raise ValueError(f"the marker of area '{area}' is not followed by {END}")
        rows = areas[area] if replace and areas[area] else merge(parse_table("\n".join(block)), areas[area])
        out += ([table(rows)] if areas[area] else block) + [END]
        seen.add(area)
    missing = [area for area, rows in areas.items() if rows and area not in seen]
    if missing:
        raise ValueError(f"no marker for area {', '.join(missing)}. Add '<!-- table:{missing[0]} -->' and '{END}' "
                         "to the document.")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "bench.jsonl",
                        help="results of bench/run.py (default build/bench.jsonl)")
    parser.add_argument("--area", choices=[area for area, _ in AREAS], help="print the table of this area only")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="update the tables of this Markdown file")
    parser.add_argument("--replace", action="store_true",
                        help="with --update: in areas with results, remove rows that are not in the results")
    options = parser.parse_args()
    try:
        areas = rows_by_area(read_lines(options.results))
        if options.update:
            document = options.update.read_text(encoding="utf-8")
            options.update.write_text(update(document, areas, options.replace), encoding="utf-8")
            return 0
    except (OSError, ValueError) as error:
        print(f"benchmarks_table: {error}", file=sys.stderr)
        return 1
    for area, rows in areas.items():
        if rows and options.area in (None, area):
            print(f"<!-- table:{area} -->\n{table(rows)}\n{END}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
