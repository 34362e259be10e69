"""Draw the figures that the README and the site share: python docs/draw_figures.py.

With --pages, also pictures of the tops of two pages, taken by a Chromium on the path.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import rpsr
from rpsr.cli.app import main
from rpsr.planning import AlphaPolicy
from rpsr.report import svg_text
from rpsr.report.plots.style import COLOURS, INK, PAPER, new_figure, styled
from rpsr.reproduce import walk_from

FOLDER = Path(__file__).parent / "figures"


@styled
def cart():
    """The cart that forgets its load: two policies, the true rewards, and what the PSR expects."""
    pomdp = rpsr.load_pomdp("loadunload")
    psr = rpsr.psr(pomdp)
    start = pomdp.states.index("empty-1")
    titles = ("the best policy", "the policy that is best for the PSR")
    figure = new_figure(7.2, 3.4)
    panels = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=[1, 1.1])
    for column, (title, model) in enumerate(zip(titles, (pomdp, psr), strict=True)):
        walk = walk_from(pomdp, AlphaPolicy.of(rpsr.solve(model, "vi")), start, psr)
        steps = np.arange(len(walk["cells"]))
        path, paid = panels[0][column], panels[1][column]
        path.plot(steps, walk["cells"], color=INK, linewidth=1.2, marker="o", markersize=3.5)
        earned, believed = sum(walk["earned"]), sum(walk["believed"])
        path.set_title(f"{title}\nearns {earned:g}, the PSR expects {believed:.1f}")
        path.set_yticks([0, 4], ["load here", "unload here"])
        paid.bar(steps, walk["earned"], 0.7, color=COLOURS[0], label="true reward")
        paid.plot(
            steps,
            walk["believed"],
            color=COLOURS[1],
            marker="s",
            markersize=4,
            markeredgecolor=PAPER,
            linewidth=1.4,
            label="what the PSR expects",
        )
        paid.set_xlabel("step")
        paid.set_xticks([0, 5, 10, 15])
    panels[0][0].set_ylabel("the cart")
    panels[1][0].set_ylabel("reward")
    handles, labels = panels[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def pages():
    """The tops of a report and of a reproduction, as a reader first sees them."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as running:
        assert main(["report", "loadunload", "-o", f"{folder}/report.html"]) == 0
        assert main(["reproduce", "--quick", "--out", f"{folder}/out"]) == 0
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for name, file in (("report", "report.html"), ("reproduction", "out/report.html")):
            page = browser.new_page(viewport={"width": 820, "height": 420})
            page.goto((Path(folder) / file).as_uri())
            page.screenshot(path=str(FOLDER / f"{name}.png"))
        browser.close()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "cart.svg").write_text(svg_text(cart()), encoding="utf-8")
    if "--pages" in sys.argv[1:]:
        pages()
