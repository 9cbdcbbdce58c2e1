"""tools/benchmarks_table.py: the tables of docs/benchmarks.md from the lines of build/bench.jsonl."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import benchmarks_table  # noqa: E402
from bench.comparisons import COMPARISONS  # noqa: E402
from bench.run import STANDALONE  # noqa: E402

SCRIPT = ROOT / "tools" / "benchmarks_table.py"


def line(name, at="2026-11-01T10:00:00Z", **more):
    return {"name": name, "status": "measured", "ours": 1234.5, "peer": 1000.25, "unit": "images/s", "ratio": 1.2345,
            "low": 1.2, "high": 1.27, "pairs": 8, "machine": {"processor": "EPYC", "cores": 2},
            "seconds": 4.0, "at": at} | more


def test_every_comparison_belongs_to_an_area_of_the_document():
    names = [comparison.name for comparison in COMPARISONS] + list(STANDALONE)
    areas = {name: benchmarks_table.area_of(name) for name in names}
    assert areas["train-cifar-32/eager"] == "training"
    assert areas["imagenet-train-indexed/ffcv-raw"] == "pipelines"
    assert areas["imagenet-train-python/dali"] == "python"
    with pytest.raises(ValueError, match="'unknown/peer' belongs to no area"):
        benchmarks_table.area_of("unknown/peer")
    document = (ROOT / "docs" / "benchmarks.md").read_text()
    assert set(benchmarks_table.START.findall(document)) == {area for area, _ in benchmarks_table.AREAS}
    assert document.count(benchmarks_table.END) == len(benchmarks_table.AREAS)


def test_the_latest_measured_line_of_a_comparison_is_used():
    lines = [line("scheduling", "2026-11-02T00:00:00Z", ratio=2), line("scheduling", "2026-11-01T00:00:00Z", ratio=1),
             {"name": "scheduling", "status": "unavailable", "reason": "x", "at": "2026-11-03T00:00:00Z"},
             {"name": "imagenet-train/dali", "status": "unavailable", "reason": "x", "at": "2026-11-03T00:00:00Z"}]
    newest = benchmarks_table.latest(lines)
    assert {name: one["ratio"] for name, one in newest.items()} == {"scheduling": 2}


def test_a_row_has_ratio_interval_pairs_cpu_and_date():
    areas = benchmarks_table.rows_by_area([line("pass/a|b"), line("scheduling", unit="samples/s")])
    assert benchmarks_table.table(areas["passes"]) == (
        "| comparison | ours | peer | ratio [95 %] | machine and options |\n|---|---|---|---|---|\n"
        "| `pass/a\\|b` | 1 234 | 1 000 | 1.23 [1.20, 1.27] | EPYC, 2 cores, `--pairs 8 --seconds 4`, 2026-11-01 |")
    assert areas["loader"][0]["ours"] == "1 234 samples/s"
    xeon = line("scheduling", machine={"processor": "Intel(R) Xeon(R) Processor", "cores": 4})
    assert benchmarks_table.run_of(xeon).startswith("Intel Xeon, 4 cores, `--pairs 8")
    assert [benchmarks_table.number(value) for value in (0.01234, 1.2345, 12.345, 123.45, 1234567)] == [
        "0.012", "1.234", "12.35", "123.5", "1 234 567"]


def test_operations_and_autotuner_have_columns_of_their_own():
    lines = [line("operation/hue", ours_us=10.04, peer_us=20.0, settings={"images": "channels_last"}),
             line("autotune/remote", ours_cpu_us=1.0, peer_cpu_us=2.0, decided={"threads": 1, "prefetch": 2},
                  settings={"threads": 4, "prefetch": 8, "read_ahead": 64})]
    areas = benchmarks_table.rows_by_area(lines)
    assert areas["operations"][0]["operation"] == "`hue`"
    assert areas["operations"][0]["peer, us"] == "20.0, channels-last"
    assert areas["autotune"][0]["threads, prefetch: best; ours"] == "4, 8 and 64 reads; ours 1, 2"


def test_a_row_with_cpu_time_has_its_ratio_and_other_rows_have_an_empty_cell():
    measured = line("checkpoint-cost", ours_cpu_ms=10.1, peer_cpu_ms=10, cpu_ratio=1.0049, cpu_low=0.999, cpu_high=1.01)
    rows = benchmarks_table.rows_by_area([measured, line("ranks-2")])["training"]
    header, _, first, second = [[cell.strip() for cell in row.split("|")[1:-1]]
                                for row in benchmarks_table.table(rows).splitlines()]
    at = header.index("CPU time, ours to peer [95 %]")
    assert header[-1] == "machine and options"
    assert first[at] == "1.005 [0.999, 1.010]" and second[at] == ""


def test_update_replaces_rows_and_keeps_rows_of_other_machines():
    document = "# Title\n<!-- table:loader -->\n<!-- /table -->\n<!-- table:passes -->\nx\n<!-- /table -->\nend\n"
    first = benchmarks_table.update(document, benchmarks_table.rows_by_area([line("scheduling"), line("two-threads")]))
    assert first.startswith("# Title\n<!-- table:loader -->\n| comparison |")
    assert first.endswith("<!-- table:passes -->\nx\n<!-- /table -->\nend\n")  # no results: unchanged
    newer = benchmarks_table.rows_by_area([line("stragglers"), line("scheduling", ratio=3.0)])
    second = benchmarks_table.update(first, newer)
    rows = [text.split("`")[1] for text in second.splitlines() if text.startswith("| `")]
    assert rows == ["scheduling", "two-threads", "stragglers"] and "3.00 [" in second
    assert "`two-threads`" not in benchmarks_table.update(first, newer, replace=True)
    assert benchmarks_table.update(second, newer) == second


def test_rows_of_other_columns_keep_their_cells():
    table = "| comparison | peer | note |\n|---|---|---|\n| `two-threads` | 7 | a\\|b |"
    document = f"<!-- table:loader -->\n{table}\n<!-- /table -->\n"
    updated = benchmarks_table.update(document, benchmarks_table.rows_by_area([line("scheduling")]))
    assert "| comparison | peer | note | ours | ratio [95 %] | machine and options |" in updated
    assert "| `two-threads` | 7 | a\\|b |  |  |  |" in updated


def test_wrong_markers_are_errors():
    areas = benchmarks_table.rows_by_area([line("scheduling")])
    with pytest.raises(ValueError, match="no marker for area loader"):
        benchmarks_table.update("text\n", areas)
    with pytest.raises(ValueError, match="unknown area 'speed'"):
        benchmarks_table.update("<!-- table:speed -->\n<!-- /table -->\n", areas)
    with pytest.raises(ValueError, match="not followed by"):
        benchmarks_table.update("<!-- table:loader -->\n", areas)


def test_the_script_prints_and_updates(tmp_path):
    results, document = tmp_path / "bench.jsonl", tmp_path / "benchmarks.md"
    results.write_text(json.dumps(line("scheduling")) + "\n\n" + json.dumps(line("pack-copy/plain-write")) + "\n")
    document.write_text((ROOT / "docs" / "benchmarks.md").read_text())

    def run(*arguments):
        return subprocess.run([sys.executable, SCRIPT, "--results", results, *arguments], capture_output=True,
                              text=True, check=False)

    printed = run("--area", "packing")
    assert printed.returncode == 0 and "`pack-copy/plain-write`" in printed.stdout
    assert "scheduling" not in printed.stdout
    assert run("--update", document).returncode == 0
    changed = set(document.read_text().splitlines()) - set((ROOT / "docs" / "benchmarks.md").read_text().splitlines())
    assert {text.split("`")[1] for text in changed} == {"scheduling", "pack-copy/plain-write"}
    results.write_text("{\n")
    failed = run()
    assert failed.returncode == 1 and "line 1 is not JSON" in failed.stderr
