"""The report in a real browser: no errors, every chart has its marks, and it fits wide and narrow windows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import Chromium, find_chromium

PROGRAM = os.environ.get("SAMPLE_REPORT")

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="chromium is not installed: the report was not looked at"),
]

VIEWS = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]

# The marks of the sample report that each chart must show.
COUNT = """(kind, selector) => [...document.querySelectorAll(`.plot[data-chart=${kind}]`)]
    .map(box => [...box.querySelectorAll(selector)].filter(mark => {
        const area = mark.getBoundingClientRect(); return area.width > 0 && area.height > 0; }).length)"""

# Share of the canvas's pixels that are not transparent.
PAINTED = """[...document.querySelectorAll('.plot[data-chart=utilisation] canvas')].map(canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let painted = 0;
    for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] > 0;
    return painted / (pixels.length / 4);
})"""

# Elements that exceed the right edge of the window, except those that scroll inside a box.
OVERFLOW = """(() => {
    const edge = document.documentElement.clientWidth + 1;
    return [...document.body.querySelectorAll('*')]
        .filter(e => !e.closest('.box, svg, .uplot, script') && e.getBoundingClientRect().right > edge)
        .map(e => `${e.tagName}.${e.className}`).slice(0, 5);
})()"""

# WCAG contrast of every text with its background, smallest first.
CONTRAST = """(() => {
    const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = e => { for (; e; e = e.parentElement) {
        const colour = numbers(getComputedStyle(e).backgroundColor);
        if (colour.length < 4 || colour[3] > 0) return colour; } return [255, 255, 255]; };
    const worst = [];
    for (const e of document.querySelectorAll('h1,h2,h3,p,a,code,td,th,dt,dd,figcaption,summary,.tile span,.status,' +
                                              '.plot text:not(.on-bar),.legend li')) {
        if (!e.textContent.trim() || !e.getClientRects().length) continue;
        const style = getComputedStyle(e);
        const ink = light(numbers(e instanceof SVGElement ? style.fill : style.color));
        const paper = light(behind(e));
        worst.push([(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), e.textContent.slice(0, 40)]);
    }
    return worst.sort((a, b) => a[0] - b[0])[0];
})()"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    assert PROGRAM, "set SAMPLE_REPORT to the program sample_report of the build"
    folder = tmp_path_factory.mktemp("reports")
    pages = {name: folder / f"{name}.html" for name in ("plain", "hostile")}
    subprocess.run([PROGRAM, pages["plain"]], check=True)
    subprocess.run([PROGRAM, pages["hostile"], "hostile"], check=True)
    return pages


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    program = find_chromium()
    assert program
    with Chromium(program) as chromium:
        yield chromium


@pytest.fixture(autouse=True)
def no_problems(request: pytest.FixtureRequest) -> Iterator[None]:
    """Checks after every test that the page threw no exception, logged nothing and fetched nothing."""
    chromium = request.getfixturevalue("browser")
    chromium.problems.clear()
    yield
    assert chromium.problems == []


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_every_chart_has_its_marks(browser: Chromium, reports: dict[str, Path], width: int, scheme: str) -> None:
    browser.show(reports["plain"], width, scheme)

    def count(kind: str, selector: str) -> object:
        return browser.evaluate(f"({COUNT})('{kind}', '{selector}')")

    assert count("ladder", ".bar") == [8 + 5, 6 + 3]  # steps measured, and the legend's
    assert count("ladder", "[data-status=absent]") == [1, 0]  # no time was left
    assert count("ladder", "[data-status=reverted] .bar") == [1, 0]
    assert count("ladder", "[data-status=undecided] .bar") == [1, 0]
    assert count("ladder", "g .whisker") == [7, 5]
    assert count("step", ".segment") == [10, 4]
    assert count("stages", ".segment") == [8]
    assert count("bars", ".segment") == [3, 5]
    assert count("bars", "[data-bar] .whisker") == [1, 0]
    assert count("bars", "[data-mark] text") == [0, 1]
    assert count("timelines", ".span") == [7]
    assert count("timelines", ".mark-line") == [0]  # lines have no width
    assert count("curves", ".curve.line .course, .curve.dashed .course") == [1, 1, 1, 1, 1]  # keys have no height
    assert count("curves", ".curve circle") == [60 + 1, 0, 9, 9, 5 + 1]  # the last loss is beyond the axis; and keys
    assert count("curves", ".interval-bar") == [0, 0, 9, 0, 0]
    assert count("curves", "[data-mark] text") == [2, 0, 1, 0, 0]
    painted = browser.evaluate(PAINTED)
    assert len(painted) == 2 and all(0.005 < share < 0.5 for share in painted), painted


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_statuses_differ_without_colour(browser: Chromium, reports: dict[str, Path], width: int, scheme: str) -> None:
    browser.show(reports["plain"], width, scheme)
    looks = browser.evaluate("""['base', 'kept', 'reverted', 'undecided', 'absent', 'final'].map(status => {
        const row = document.querySelector(`[data-status=${status}]`);
        return [...row.querySelectorAll('text')].map(text => text.textContent).join(' ').match(/[•✓↩?–★]/)[0]; })""")
    assert looks == ["•", "✓", "↩", "?", "–", "★"]


@pytest.mark.parametrize("name", ["plain", "hostile"])
@pytest.mark.parametrize("width", [1280, 400, 320])
def test_the_page_never_scrolls_sideways(browser: Chromium, reports: dict[str, Path], name: str, width: int) -> None:
    browser.show(reports[name], width, "light")
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.evaluate(OVERFLOW) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(browser: Chromium, reports: dict[str, Path], scheme: str) -> None:
    browser.show(reports["plain"], 1280, scheme)
    worst, text = browser.evaluate(CONTRAST)  # type: ignore[misc]
    assert worst >= 4.5, f"contrast {worst:.2f} of {text!r}"


def test_a_change_of_scheme_repaints_page_and_canvas(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    look = "[getComputedStyle(document.body).backgroundColor, document.querySelector('canvas').toDataURL()]"
    light = browser.evaluate(look)
    browser.set_scheme("dark")
    browser.settle()
    dark = browser.evaluate(look)
    assert light[0] == "rgb(255, 255, 255)"  # type: ignore[index]
    assert dark[0] != light[0]  # type: ignore[index]
    assert dark[1] != light[1]  # type: ignore[index]


def test_a_change_of_width_redraws_the_charts(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    browser.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    browser.settle()
    fits = """[...document.querySelectorAll('.plot')].map(box => {
        const drawing = box.querySelector('svg, canvas').getBoundingClientRect();
        return Math.abs(drawing.width - box.clientWidth) <= 1; })"""
    assert all(browser.evaluate(fits))  # type: ignore[arg-type]


def test_tables_say_what_the_charts_draw(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    rows = browser.evaluate("""[...document.querySelectorAll('#part-1 table.cards tbody tr')].map(row =>
        [...row.cells].map(cell => cell.innerText.replace(/\\s+/g, ' ').trim()))""")
    assert len(rows) == 11  # type: ignore[arg-type]
    first, *rest = rows[2]  # type: ignore[index]
    assert first.startswith("mixed precision float32 -> bfloat16 affects learning: loss 2.318 → 2.317")
    assert rest == ["128", "666 MB", "260.2", "492", "", "", "1.44 [1.42, 1.46]", "✓ kept"]
    # Steps that are not applicable come last, those with the same reason together.
    assert rows[9][8] == "– not applicable the device is the host: there is no bus to cross"  # type: ignore[index]
    assert rows[10][0] == "pinned memory, asynchronous copy"  # type: ignore[index]


def test_how_many_times_comes_first(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    # The first paragraph, with the largest letters of the page: the ratio to the fastest other loader.
    first = browser.evaluate("document.querySelector('main p').innerText.split('\\n')")
    assert first[0] == "4.56 ×" and first[1].startswith("4.56 [4.15, 5.01] times")  # type: ignore[index]
    assert browser.evaluate("""(() => {
        const size = element => parseFloat(getComputedStyle(element).fontSize);
        const number = document.querySelector('.headline b');
        return [...document.querySelectorAll('main *')].every(e =>
            number.contains(e) || size(e) < size(number)); })()""")
    rows = browser.evaluate("""[...document.querySelectorAll('#comparison tbody tr')].map(row =>
        [...row.cells].map(cell => cell.innerText.replace(/\\s+/g, ' ').trim()))""")
    assert rows == [["unstarve", "4 143", "", ""],
                    ["unstarve, from the second epoch on", "5 151", "", ""],
                    ["torch's DataLoader with Pillow 4 workers, prefetch 4", "653", "6.77 [5.56, 8.25]",
                     "8.96 [8.08, 9.93]"],
                    ["torch's DataLoader with torchvision 2 workers", "914", "4.56 [4.15, 5.01]",
                     "6.02 [5.65, 6.42]"]]


def test_every_figure_links_to_its_command(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    # Of headline, overview, tiles, charts and tables: the part, and the text of the element that the link refers to.
    figures = ".headline b, nav span, .tile b, figcaption, caption"
    found = browser.evaluate(f"""[...document.querySelectorAll('{figures}')].map(figure => {{
        const target = e => e.getAttribute('href').slice(1);
        const item = figure.closest('nav li'), link = figure.querySelector('a');
        return [item ? target(item.querySelector('a')) : figure.closest('section')?.id ?? '',
                link && document.getElementById(target(link)).innerText]; }})""")
    commands = {"": "python -m unstarve.comparison photos/ --pairs 6 --seconds 1.5",
                "part-1": "unstarve tune thumbnails/ --device cpu --minutes 1.5",
                "part-2": "unstarve tune photos/ --device emulated:h100-resnet50 --minutes 1.5"}
    commands["comparison"] = commands[""]
    commands["curves-1"] = "unstarve demo photos/ --device cpu --minutes 3 --report report.html"
    assert len(found) > 15 and {part for part, _ in found} == commands.keys()  # type: ignore[arg-type, union-attr]
    assert [command for _, command in found] == [commands[part] for part, _ in found]  # type: ignore[union-attr]


def test_bars_are_as_long_as_their_figures(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    rows = browser.evaluate("""[...document.querySelectorAll('.plot[data-chart=bars] [data-bar]')].map(row =>
        [row.dataset.bar, ...[...row.querySelectorAll('.segment')].map(part => part.getBoundingClientRect().width)])""")
    names = [row[0] for row in rows]  # type: ignore[union-attr]
    assert names == ["storage", "loader", "copy", "mean", "slowest tenth"]
    (_, storage), (_, loader), (_, copy), (_, *mean), (_, *slow) = rows  # type: ignore[misc]
    assert loader / storage == pytest.approx(410 / 900, rel=0.01)
    assert copy / loader == pytest.approx(90 / 410, rel=0.01)
    assert [part / mean[0] for part in mean[1:]] == pytest.approx([8 / 20, 2 / 20], rel=0.03)
    assert slow == pytest.approx([mean[0], mean[1] * 30 / 8], rel=0.01)
    cut = browser.evaluate("""[...document.querySelectorAll('.plot[data-chart=bars] .cut')].map(gap =>
        gap.closest('[data-bar]').dataset.bar)""")
    assert cut == ["storage"]
    assert "continues beyond the axis" in browser.evaluate("document.body.innerText")  # type: ignore[operator]
    looks = browser.evaluate("""[...document.querySelectorAll('.plot[data-chart=bars] [data-bar=mean] .segment')]
        .map(part => getComputedStyle(part).fill)""")
    assert len(set(looks)) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_labels_of_points_are_next_to_them_and_do_not_overlap(
        browser: Chromium, reports: dict[str, Path], width: int, scheme: str) -> None:
    browser.show(reports["plain"], width, scheme)
    found = browser.evaluate("""(() => {
        const plot = [...document.querySelectorAll('.plot')].find(box => box.querySelector('[data-point]'));
        const area = mark => { const box = mark.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom]; };
        return [area(plot), [...plot.querySelectorAll('[data-point]')].map(text => [text.dataset.point, area(text)]),
                [...plot.querySelectorAll('.area circle')].map(dot => [dot.textContent.split(':')[0], area(dot)])];
    })()""")
    plot, labels, dots = found  # type: ignore[misc]
    assert [name for name, _ in dots] == ["small_0.35", "small_0.5", "large", "small_0.34", "largest"]
    assert {"small_0.35", "large"} <= {name for name, _ in labels}
    areas = [area[2] - area[0] for _, area in dots]
    assert areas[4] == pytest.approx(28, abs=0.5) and areas[2] == pytest.approx(28 * (26 / 30) ** 0.5, abs=0.5)
    places = dict(dots)
    for i, (name, (left, top, right, bottom)) in enumerate(labels):
        assert plot[0] <= left and right <= plot[2] + 0.5 and plot[1] <= top
        dot = places[name]
        assert left < dot[2] + 12 and right > dot[0] - 12 and top < dot[3] + 12 and bottom > dot[1] - 12
        for _, (other_left, _, other_right, other_bottom) in labels[:i]:
            assert right < other_left or left > other_right or top + 2 >= other_bottom or bottom <= other_bottom - 14


def test_charts_speak_to_screen_readers(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    labels = browser.evaluate("[...document.querySelectorAll('.plot')].map(p => [p.getAttribute('role'), p.ariaLabel])")
    assert all(role in ("img", "tree") and label for role, label in labels)  # type: ignore[union-attr]
    assert "channels-last 482, reverted" in labels[0][1]  # type: ignore[index]


NAMES = "[...document.querySelectorAll('.flame')].map(bar => bar.getAttribute('aria-label').split(' ')[0])"
FOCUS = "document.activeElement.getAttribute('aria-label')"


def press(browser: Chromium, *keys: str) -> None:
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key)
    browser.settle()


def test_flame_graph_by_pointer(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    assert browser.evaluate(NAMES) == ["all:", "load", "decode", "resize", "train", "forward"]
    widths = """[...document.querySelectorAll('.flame rect')].map(bar => Math.round(bar.getBoundingClientRect().width /
        bar.closest('.plot').clientWidth * 100))"""
    assert browser.evaluate(widths) == [100, 60, 35, 20, 40, 30]
    browser.evaluate("document.querySelectorAll('.flame')[1].dispatchEvent(new MouseEvent('click')), true")
    assert browser.evaluate(NAMES) == ["all:", "load", "decode", "resize"]
    assert browser.evaluate(widths) == [100, 100, 58, 33]
    browser.evaluate("document.querySelectorAll('.flame')[0].dispatchEvent(new MouseEvent('click')), true")
    assert browser.evaluate(widths) == [100, 60, 35, 20, 40, 30]


def test_flame_graph_by_keyboard(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "dark")
    browser.evaluate("document.querySelector('.flame[tabindex=\"0\"]').focus(), true")
    press(browser, "ArrowDown", "ArrowDown")
    assert browser.evaluate(FOCUS) == "decode (codec.py:7): 35.0 % of the time"
    press(browser, "ArrowRight")
    assert browser.evaluate(FOCUS) == "resize (codec.py:9): 20.0 % of the time"
    press(browser, "ArrowUp", "Enter")
    assert browser.evaluate(FOCUS) == "load (train.py:12): 60.0 % of the time"
    assert browser.evaluate(NAMES) == ["all:", "load", "decode", "resize"]
    press(browser, "Escape")
    assert browser.evaluate(NAMES) == ["all:", "load", "decode", "resize", "train", "forward"]
    assert browser.evaluate("document.querySelectorAll('.flame[tabindex=\"0\"]').length") == 1


# Begin and end of the bars that are shown, in percent of the width, and their vertical positions.
SPANS = """[...document.querySelectorAll('.timeline .span')].map(bar => {
    const area = bar.closest('.area'), left = Number(area.getAttribute('x')), from = Number(bar.getAttribute('x'));
    return [from, from + Number(bar.getAttribute('width'))].map(at =>
        Math.round(100 * (at - left) / Number(area.getAttribute('width')))); })"""
ALL = [[0, 20], [20, 45], [25, 30], [50, 70], [70, 95], [30, 45], [80, 95]]


def test_timeline_by_keyboard(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "dark")
    assert browser.evaluate(SPANS) == ALL
    rows = browser.evaluate("""[...document.querySelectorAll('.timeline .span')].map(bar => bar.getAttribute('y'))""")
    assert rows[0] == rows[1] == rows[3] and float(rows[2]) > float(rows[0])  # type: ignore[index]
    assert float(rows[5]) > float(rows[2])  # type: ignore[index]
    browser.evaluate("document.querySelector('.timeline').focus(), true")
    press(browser, "+")
    assert browser.evaluate(SPANS) == [[0, 40], [0, 10], [50, 90], [90, 100], [10, 40]]
    press(browser, "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert browser.evaluate(SPANS)[0] == [0, 40]  # type: ignore[index]
    press(browser, "-", "-")
    assert browser.evaluate(SPANS) == ALL
    press(browser, "+", "+", "Home")
    assert browser.evaluate(SPANS) == ALL
    assert browser.evaluate("document.activeElement.classList.contains('timeline')")


def test_timeline_by_pointer(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    place = browser.evaluate("""(() => { const box = document.querySelector('.timeline');
        box.scrollIntoView(); const place = box.getBoundingClientRect(), area = box.querySelector('.area');
        const [left, width] = ['x', 'width'].map(name => Number(area.getAttribute(name)));
        return [place.left + left, place.top + 40, width]; })()""")
    left, top, width = place  # type: ignore[misc]

    def mouse(kind: str, x: float, **more: object) -> None:
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=top, **more)

    def wheel(x: float) -> None:
        mouse("mouseWheel", x, deltaX=0, deltaY=-120)
        browser.settle()

    wheel(left)  # without focus, the wheel scrolls the page
    assert browser.evaluate(SPANS) == ALL
    browser.evaluate("scrollTo(0, 0), document.querySelector('.timeline').scrollIntoView(), true")
    browser.settle()
    mouse("mousePressed", left + 5, button="left", clickCount=1)
    mouse("mouseReleased", left + 5, button="left", clickCount=1)
    for _ in range(4):
        wheel(left)
    zoomed = browser.evaluate(SPANS)
    assert zoomed[0][0] == 0 and zoomed[0][1] == pytest.approx(20 * 1.2**4, abs=1)  # type: ignore[index]
    mouse("mousePressed", left + width / 2, button="left", clickCount=1)
    mouse("mouseMoved", left + width / 4, button="left", buttons=1)
    mouse("mouseReleased", left + width / 4, button="left", clickCount=1)
    browser.settle()
    moved = browser.evaluate(SPANS)
    assert moved[0][1] == pytest.approx(zoomed[0][1] - 25, abs=1)  # type: ignore[index]
    title = browser.evaluate("document.querySelectorAll('.timeline .span')[1].parentNode.textContent")
    assert title.startswith("forward: 5.00 ms from 4.00 ms on (operator)")  # type: ignore[union-attr]


# A window of watch with a row of steps and two threads.
WINDOW = {"begin_s": 2, "seconds": 0.3, "resolution_s": 0.005, "step_source": "un.step()", "steps": [0, 0.1, 0.2],
          "lanes": ["main 11 python", "worker 12 python"],
          "spans": [[0, 4, 0, 0.06], [0, 0, 0.06, 0.04], [0, 4, 0.1, 0.06], [0, 0, 0.16, 0.04], [0, 0, 0.2, 0.1],
                    [1, 0, 0, 0.15], [1, 1, 0.15, 0.15]]}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a program without kernels that was watched."""
    program, folder = os.environ["UNSTARVE"], tmp_path_factory.mktemp("watched")
    profile, page = folder / "profile.json", folder / "page.html"
    subprocess.run([program, "watch", "--out", profile, "--", "true"], check=True, capture_output=True, timeout=60)
    content = json.loads(profile.read_text())
    content["profile"]["thread_window"] = WINDOW
    profile.write_text(json.dumps(content))
    subprocess.run([program, "diagnose", profile, "--report", page], check=True, capture_output=True, timeout=60)
    return page


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_timeline_of_threads_by_keyboard(browser: Chromium, watched: Path, width: int, scheme: str) -> None:
    browser.show(watched, width, scheme)
    steps = [[0, 33], [33, 67], [67, 100]]
    threads = [[0, 20], [20, 33], [33, 53], [53, 67], [67, 100], [0, 50], [50, 100]]
    assert browser.evaluate(SPANS) == steps + threads
    text = browser.evaluate("document.querySelector('.timeline').closest('figure').textContent")
    for part in ("3 typical steps", "by un.step()", "sampled every 5.0 ms", "steps", "main 11", "worker 12",
                 "on a CPU", "waits for a CPU", "waits for a pipe"):
        assert part in text, part  # type: ignore[operator]
    keys = browser.evaluate("""[...document.querySelectorAll('.timeline .legend .key')].map(key =>
        getComputedStyle(key).backgroundColor)""")
    assert len(set(keys)) == len(keys) == 4  # type: ignore[arg-type]
    assert browser.evaluate(OVERFLOW) == []
    browser.evaluate("document.querySelector('.timeline').focus(), true")
    press(browser, "+", "Home", "+")
    assert browser.evaluate(SPANS)[1] == [17, 83]  # type: ignore[index]
    press(browser, "Home")
    assert browser.evaluate(SPANS) == steps + threads


def test_timeline_of_threads_by_pointer(browser: Chromium, watched: Path) -> None:
    browser.show(watched, 1280, "light")
    left, top, width = browser.evaluate("""(() => { const box = document.querySelector('.timeline');
        box.scrollIntoView(); box.focus();
        const place = box.getBoundingClientRect(), area = box.querySelector('.area');
        const [left, width] = ['x', 'width'].map(name => Number(area.getAttribute(name)));
        return [place.left + left, place.top + 40, width]; })()""")  # type: ignore[misc]
    browser.settle()
    for _ in range(4):
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=left, y=top, deltaX=0, deltaY=-120)
        browser.settle()
    zoomed = browser.evaluate(SPANS)
    assert zoomed[0] == [0, pytest.approx(100 / 3 * 1.2**4, abs=1)]  # type: ignore[index]
    for kind, x in (("mousePressed", width / 2), ("mouseMoved", width / 4), ("mouseReleased", width / 4)):
        browser.call("Input.dispatchMouseEvent", type=kind, x=left + x, y=top, button="left", buttons=1, clickCount=1)
    browser.settle()
    assert browser.evaluate(SPANS)[0][1] == pytest.approx(zoomed[0][1] - 25, abs=1)  # type: ignore[index]
    title = browser.evaluate("document.querySelectorAll('.timeline .span')[1].parentNode.textContent")
    assert title.startswith("step 2: 100 ms from 100 ms on (step)")  # type: ignore[union-attr]


def test_findings_are_ranked(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "light")
    found = browser.evaluate("""[...document.querySelectorAll('.findings li')].map(item =>
        [item.querySelector('h3').innerText, ...[...item.querySelectorAll('dt')].map(term => term.innerText)])""")
    assert found == [["The loader has one worker", "Evidence", "Change", "Gain"],
                     ["Writing logs stops the training", "Evidence", "Change"]]


def test_names_do_not_become_markup(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["hostile"], 1280, "dark")
    assert browser.evaluate("document.title") != "owned"
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.querySelectorAll('script').length") == 3
    bars = browser.evaluate("document.querySelectorAll('.plot[data-chart=ladder] .bar').length")
    assert bars > 5  # type: ignore[operator]


def test_paper_is_light(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.show(reports["plain"], 1280, "dark")
    browser.call("Emulation.setEmulatedMedia", media="print",
                 features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.evaluate("dispatchEvent(new Event('beforeprint')), true")
    browser.settle()
    assert browser.evaluate("[...document.querySelectorAll('details')].every(part => part.open)")
    browser.evaluate("dispatchEvent(new Event('afterprint')), true")
    browser.call("Emulation.setEmulatedMedia", media="")
