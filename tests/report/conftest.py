"""What tests of reports share: the problem that most of them show, and a page in a browser."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import rpsr
from rpsr.planning import FiniteStateController
from rpsr.report import (
    Figure,
    Page,
    Section,
    Stepper,
    Steps,
    Table,
    Text,
    plot_policy_graph,
    write_page,
)
from rpsr.report import plot_reconstruction as heat_map

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]
RING = FiniteStateController(
    ("go", "stop"), ("o", "p"), np.array([0, 1, 0]), np.array([[1, 2], [2, 1], [0, 0]])
)
DOMAINS = ("loadunload", "4x3", "iff")


@pytest.fixture(scope="session")
def loadunload():
    """The paper's load/unload."""
    return rpsr.load_pomdp("loadunload")


@pytest.fixture(scope="module")
def browser():
    """Chromium, on the path or named by RPSR_CHROMIUM; a test is skipped by name where it lacks."""
    program = os.environ.get("RPSR_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("browser: no Chromium on the path, and RPSR_CHROMIUM is not set")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def steps():
    """The domains to step through; the first has plans on its three models."""
    by_name = {name: Steps.of(rpsr.load_pomdp(name)) for name in DOMAINS}
    first = by_name["loadunload"]
    models = {"POMDP": first.pomdp, "PSR": first.psr, "R-PSR": first.rpsr}
    plans = {name: rpsr.solve(model, "vi") for name, model in models.items()}
    return {**by_name, "loadunload": replace(first, plans=plans)}


@pytest.fixture(scope="session")
def page_path(steps, tmp_path_factory):
    pomdp = steps["loadunload"].pomdp
    wide = Table(
        "A wide table", tuple("abcdefghij"), (tuple(f"cell number {i}" for i in range(10)),)
    )
    page = Page(
        "A page <of> tests",
        (
            Section("First", (Text("Some *words*."), wide)),
            Section("Drawn", (Figure(heat_map(pomdp, rpsr.accuracy(pomdp)), alt="rewards"),)),
            Section("Policy", (Figure(plot_policy_graph(RING), alt="policy"),)),
            Section("Step", (Stepper(tuple(steps.values())),)),
        ),
    )
    target = tmp_path_factory.mktemp("page") / "page.html"
    write_page(page, target)
    return target


@pytest.fixture
def visit(browser, page_path):
    """Open the page; whatever it complains of or asks the network for fails the test."""
    complaints, contexts = [], []

    def open_page(target=page_path, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or complaints.append(request.url)
            ),
        )
        page.goto(target.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
