"""Packing on a (local) Ray cluster gives the same result as on one machine."""

import filecmp
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

# Read when Ray is imported: no usage reports, and no access to the cluster by other users of this machine.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
ray = pytest.importorskip("ray", reason="the package ray is not installed")

OPTIONS = ["--format", "webdataset", "--resize", "40", "--shard-mb", "0.02", "--split", "train=0.8,val=0.2", "--seed",
           "4"]


def unstarve(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray") / "src"
    done = unstarve("synth", folder, "--classes", 3, "--images", 90, "--size", 64)
    assert done.returncode == 0, done.stderr
    return folder


# As `python -m unstarve.ray` in a separate cluster, on loopback (Ray's default is the machine's external address).
# 80 MB is the minimum of Ray's object store; these tests transfer only small objects.
MODULE = """
import runpy, sys, ray
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20,
         _node_ip_address="127.0.0.1")
sys.argv = ["unstarve.ray", *sys.argv[1:]]
runpy.run_module("unstarve.ray", run_name="__main__")
"""


def run_module(folder, *arguments, code=MODULE):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True, check=False, timeout=120)


def test_a_cluster_packs_the_same_shards_as_one_machine(source):
    one = source.parent / "one"
    assert unstarve("pack", source, one, *OPTIONS).returncode == 0
    # Relative paths: tasks run in other folders.
    done = run_module(source.parent, "pack", "src", "many", *OPTIONS, "--parts", 4, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"] and report["records"] == 90
    assert report["shards_made"] == report["shards_total"] == len(report["shards"]) > 4
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in (source.parent / "many").iterdir())
    assert filecmp.cmpfiles(one, source.parent / "many", names, shallow=False)[0] == names
    assert unstarve("verify", source.parent / "many").returncode == 0


def test_a_failed_part_reports_its_reason_and_exit_code(source):
    done = run_module(source.parent, "pack", "nowhere", "x", "--format", "tfrecord", "--parts", 2)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("nowhere: No such file or directory") >= 2  # each part separately
    assert "part 1/2" in done.stderr and "part 2/2" in done.stderr
    done = run_module(source.parent, "pack", "src", "x", "--format", "zip", "--parts", 2)
    assert done.returncode == 2, done.stderr
    assert 'found "zip"' in done.stderr


# A program that fails only for its second part, after the other parts have started.
FAILS_ONCE = """#!/bin/sh
case " $* " in *" 2/3 "*) echo "unstarve: no such luck" >&2; exit 4;; esac
exec "$REAL" "$@"
"""


def test_other_parts_are_packed_if_one_fails(source, monkeypatch):
    program = source.parent / "fails_once"
    program.write_text(FAILS_ONCE)
    program.chmod(0o755)
    monkeypatch.setenv("REAL", os.environ["UNSTARVE"])
    monkeypatch.setenv("UNSTARVE", str(program))
    arguments = ["pack", "src", "rest", *OPTIONS, "--parts", 3, "--retries", 0]
    done = run_module(source.parent, *arguments)
    assert done.returncode == 4, done.stderr
    assert "part 2/3" in done.stderr and "no such luck" in done.stderr
    assert "part 1/3" not in done.stderr and "part 3/3" not in done.stderr
    made = {path: path.stat().st_mtime_ns for path in (source.parent / "rest").glob("*.tar")}
    assert made
    # The next run packs only what is missing.
    monkeypatch.setenv("UNSTARVE", os.environ["REAL"])
    done = run_module(source.parent, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"] and report["shards_found"] == len(made)
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_usage_errors_are_reported_without_a_cluster(source):
    for arguments in (["pack", "a", "b", "--parts", "0"], ["pack", "a", "b", "--parts", "2", "--part", "1/2"],
                      ["pack", "a", "b", "--parts", "2", "--part=1"],
                      ["pack", "--format", "tfrecord", "a", "b", "--parts", "2"],
                      ["pack", "a", "--format", "tfrecord", "b", "--parts", "2"]):
        alone = "import runpy; runpy.run_module('unstarve.ray', run_name='__main__')"
        done = run_module(source.parent, *arguments, code=alone)
        assert done.returncode == 2
        assert "usage:" in done.stderr
