"""The report of a long recording with a fault in it: how long it takes to write, how large it is, how soon it answers in headless Chromium.

    python benchmarks/report.py [--request-steps 1000000] [--page-size 16] [--ranks 1] [--recording PATH]

The recording is that of benchmarks/check.py, made once and kept in `.cache/`; of a copy the last pair that moves something runs
backwards, and with `--ranks` the copy has as many processes. Prints wall and processor seconds of the check (`--replay off`) and of
writing the page after it, its size, and of three fresh tabs the best: when the first text is painted, when the page's own script has
run, when the first figure is drawn (plotly's script is read then), when a key that is pressed there has gone to the finding and a
click behind it has opened a step, when all figures are drawn; and the processor seconds of the page's thread until the answer, which
other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from long_run import WAVE, make
from planted import linked, plant

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SELECTED = "document.querySelectorAll('[role=tab][aria-selected=true]').length > 0"
FIRST = "document.querySelector('.plot .main-svg') !== null"
FOUND = "document.activeElement.matches('article.finding')"
OPENED = "document.querySelectorAll('#steps [role=tab]')[1].getAttribute('aria-selected') === 'true'"
DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.closest('[hidden]') || plot.querySelector('.main-svg'))"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime / 1000"
PATIENCE = 60
LIMITS = "at most 8 MB, answers within 2 s, written within 20 s"


def main() -> None:
    """Make the recording if it is missing, write the report, open it, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--request-steps", type=int, default=1_000_000)
    parser.add_argument("--page-size", type=int, default=16)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument(
        "--recording", type=Path, help="take this one instead, as it is; something has to be found in it"
    )
    args = parser.parse_args()
    waves = -(-args.request_steps // WAVE)
    path = args.recording or ROOT / ".cache" / f"long-{waves}-p{args.page_size}.speckv"
    if not path.exists():
        make(path, waves, args.page_size)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        if not args.recording:
            path = linked(path, Path(folder) / path.name, args.ranks)
            print(f"planted: the last move of step {plant(path)} runs backwards")
        write(path, page)
        look(page)
    print(f"asked for: {LIMITS}")


def write(path: Path, page: Path) -> None:
    """Check and write, each timed."""
    from speckv_debug.checks import RULES
    from speckv_debug.checks.run import check
    from speckv_debug.recording.reader import Recording
    from speckv_debug.viewers.html.page import render

    recording = Recording.open(path)
    result = timed("check --replay off", lambda: check(recording, replay="off"))
    with page.open("w", encoding="utf-8", newline="\n") as out:
        timed("write the page", lambda: render(recording, result, out, laws=RULES))
    print(f"{'size':24} {page.stat().st_size / 1e6:7.2f} MB")


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Do it, print wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:24} {wall:7.2f} s, {cpu:7.2f} s of processor time")
    return found


def look(page: Path) -> None:
    """Open the page three times in tabs of their own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        runs = [opened(browser, page) for _ in range(3)]
        browser.close()
    for name in runs[0]:
        print(f"{name:24} {min(run[name] for run in runs):7.2f} s")


def opened(browser: Any, page: Path) -> dict[str, float]:
    """Seconds after the navigation began, and seconds of the page's thread."""
    tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    devtools = tab.context.new_cdp_session(tab)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun = time.perf_counter()
    tab.goto(page.as_uri(), wait_until="commit")
    found = {"own script has run": reached(tab, SELECTED, begun)}
    found["first figure drawn"] = reached(tab, FIRST, begun)
    tab.keyboard.press("n")
    found["a key is answered"] = reached(tab, FOUND, begun)
    tab.locator("#steps [role=tab]").nth(1).click()
    found["a click is answered"] = reached(tab, OPENED, begun)
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    found["all figures drawn"] = reached(tab, DRAWN, begun)
    painted = tab.evaluate(PAINTED)
    tab.close()
    first = {"first text painted": painted or found["own script has run"]}
    return {**first, **found, "thread until the answer": metrics["TaskDuration"]}


def reached(tab: Any, condition: str, begun: float) -> float:
    """Seconds from `begun` until the condition holds in the page."""
    while not tab.evaluate(condition):
        if time.perf_counter() - begun > PATIENCE:
            sys.exit(
                f"after {PATIENCE} s still not so: {condition} (a page without findings has none to go to)"
            )
        time.sleep(0.01)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
