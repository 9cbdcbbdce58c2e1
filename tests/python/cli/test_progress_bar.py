"""The progress bar on a terminal: its content, its width, and that it is erased and never written to files."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest

BAR = re.compile(r"(?P<bar>#*-*) +(?P<percent>\d+) %(?:  (?P<left>\S+ \S+) left)?  (?P<what>.*)")
RECORDS = re.compile(r"(?P<done>\d+) of (?P<total>\d+) records(?:, (?P<rate>[\d. ]+)/s)?")

# 20 ms per record in chunks of 8 by one thread: a chunk takes longer than the 100 ms between two drawings, so each is
# drawn unless the machine is too busy.
SLOW = ["sleep:ms=20,images=48,size=8", "--format", "webdataset", "--threads", "1"]


def run_on_terminal(arguments, columns=80, signal_at=None):
    """Runs the program with standard error on a terminal. Returns exit code, output and the bytes sent to the terminal.

    With `signal_at`, SIGINT is sent when that text appears."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([os.environ["UNSTARVE"], *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=end)
    os.close(end)
    sent = b""
    with open(terminal, "rb", buffering=0) as screen, process.stdout:
        try:
            while True:
                piece = screen.read(4096)
                if not piece:
                    break
                sent += piece
                if signal_at is not None and signal_at in sent:
                    process.send_signal(signal.SIGINT)
                    signal_at = None
        except OSError:  # EIO: the other end was closed
            pass
        out = process.stdout.read()
    return process.wait(), out.decode(), sent.decode()


class Screen:
    """Returns the lines that the terminal shows at the end, and every content of its last line."""

    def __init__(self, sent):
        self.lines, self.drawn = [""], []
        for piece in re.findall(r"\x1b\[K|[\r\n]|[^\r\n\x1b]+|\x1b", sent):
            if piece == "\r":
                column = 0
            elif piece == "\n":
                self.lines.append("")
            elif piece == "\x1b[K":
                self.lines[-1] = self.lines[-1][:column]
            else:
                assert piece != "\x1b", f"an escape sequence that is not known here: {sent!r}"
                self.lines[-1] += piece
                self.drawn.append(self.lines[-1])
                column = len(self.lines[-1])


def bars(screen):
    drawn = [BAR.fullmatch(line) for line in screen.drawn]
    assert drawn and all(drawn), screen.drawn
    return [match.groupdict() for match in drawn]


def test_pack_shows_progress_speed_and_remaining_time(tmp_path):
    code, out, sent = run_on_terminal(["pack", SLOW[0], tmp_path / "dst", *SLOW[1:]])
    assert code == 0, sent
    assert "48 records" in out and "#" not in out
    screen = Screen(sent)
    assert screen.lines == [""]  # it is erased
    shown = bars(screen)
    assert shown[0]["what"] == f"opening {SLOW[0]}"
    report = [(RECORDS.fullmatch(bar["what"]), bar) for bar in shown[1:]]
    counts = [int(match["done"]) for match, _ in report]
    assert counts == sorted(set(counts)) and (counts[0], counts[-1]) == (0, 48)
    assert all(count % 8 == 0 for count in counts)
    assert {match["total"] for match, _ in report} == {"48"}
    for match, bar in report:
        done = int(match["done"])
        assert abs(int(bar["percent"]) - 100 * done / 48) <= 0.5
        assert len(bar["bar"]) == 30
        assert bar["bar"].count("#") == 30 * done // 48
        if done == 0:  # no rate and no time at the start
            assert match["rate"] is None and bar["left"] is None
        else:
            assert 0 < float(match["rate"].replace(" ", "")) <= 50
            assert re.fullmatch(r"\d+ s|\d+:\d\d min", bar["left"])
    # 8 of 48 took 160 ms or more, so the other 40 take 800 ms or more.
    assert report[1][1]["left"] != "0 s"
    assert report[-1][1]["left"] == "0 s"


@pytest.mark.parametrize("columns", [60, 20])
def test_on_a_narrow_terminal_it_stays_on_one_line(tmp_path, columns):
    code, _, sent = run_on_terminal(["pack", SLOW[0], tmp_path / "dst", *SLOW[1:]], columns)
    assert code == 0, sent
    screen = Screen(sent)
    assert screen.lines == [""]
    assert max(map(len, screen.drawn)) == columns - 1
    if columns == 60:  # the bar becomes shorter, the figures do not
        report = bars(screen)[1:]
        assert all(RECORDS.fullmatch(bar["what"]) for bar in report)
        assert len(report[-1]["bar"]) < len(report[0]["bar"]) == 30


def test_installed_packages_are_not_counted(tmp_path):
    """Percentage and rate refer to the work of this run only."""
    half = [*SLOW, "--shard-mb", "0.00001"]
    command = [os.environ["UNSTARVE"], "pack", half[0], str(tmp_path / "dst"), *half[1:]]
    subprocess.run([*command, "--part", "1/2"], check=True, stdout=subprocess.DEVNULL)
    code, _, sent = run_on_terminal(command[1:])
    assert code == 0, sent
    report = [RECORDS.fullmatch(bar["what"]) for bar in bars(Screen(sent))[1:]]
    assert {int(match["total"]) for match in report} == {24}
    assert (int(report[0]["done"]), int(report[-1]["done"])) == (0, 24)


def test_an_error_does_not_overlap_the_progress_bar(tmp_path):
    (tmp_path / "dst").write_text("a file")
    code, _, sent = run_on_terminal(["pack", SLOW[0], tmp_path / "dst", *SLOW[1:]], columns=200)
    assert code != 0
    screen = Screen(sent)
    assert any(line.startswith("-") for line in screen.drawn)
    assert len(screen.lines) == 2 and screen.lines[1] == ""
    assert screen.lines[0].startswith("unstarve: ") and str(tmp_path / "dst") in screen.lines[0]


def test_an_interrupt_erases_the_progress_bar(tmp_path):
    code, _, sent = run_on_terminal(["pack", SLOW[0], tmp_path / "dst", *SLOW[1:]], signal_at=b"8 of 48")
    assert code == -signal.SIGINT
    assert Screen(sent).lines == [""]


def test_no_progress_bar_is_written_to_a_file(tmp_path):
    terminal, end = pty.openpty()  # standard output on a terminal makes no difference
    try:
        done = subprocess.run([os.environ["UNSTARVE"], "pack", SLOW[0], str(tmp_path / "dst"), *SLOW[1:]],
                              stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        os.close(end)
        out = b""
        try:
            while piece := os.read(terminal, 4096):
                out += piece
        except OSError:  # EIO: everything was read
            pass
        assert b"48 records" in out and b"\x1b" not in out and b" left" not in out
    finally:
        os.close(terminal)
