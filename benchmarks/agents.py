"""A standard agent on three observations of load/unload: the raw one, the PSR's and the R-PSR's.

    python benchmarks/agents.py [--steps N] [--seeds K] [--out docs/tutorials/agents.json]

Needs stable-baselines3 besides rpsr[gym]. PPO with the library's default hyper-parameters, but the
model's discount, trains on episodes of 50 steps. Now and then its deterministic policy runs 20
episodes: their mean discounted return, and the share of the last 25 steps that it spends at an end
of the road. The curves are written as JSON and drawn as SVG beside it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import rpsr
from rpsr.envs import PredictiveState, make
from rpsr.report.plots.style import COLOURS, DASHES, MARKERS, PAGE, new_figure, styled
from rpsr.report.plots.svg import svg_text

DOMAIN, LENGTH = "loadunload", 50
OBSERVATIONS = ("raw", "psr", "rpsr")
NAMES = {"raw": "the raw observation", "psr": "the PSR's state", "rpsr": "the R-PSR's state"}


def environment(kind: str) -> Any:
    """Load/unload, observed in one of three ways."""
    pomdp = rpsr.load_pomdp(DOMAIN)
    env = make(pomdp, max_episode_steps=LENGTH, hidden_state=True)
    if kind == "raw":
        return env
    return PredictiveState(env, rpsr.psr(pomdp) if kind == "psr" else rpsr.rpsr(pomdp), core=True)


def judged(agent: Any, env: Any, episodes: int = 20) -> tuple[float, float]:
    """The mean discounted return, and the share of late steps at an end of the road."""
    pomdp = rpsr.load_pomdp(DOMAIN)
    ends = {s for s, name in enumerate(pomdp.states) if name.endswith(("-0", "-4"))}
    returns, late = [], []
    for episode in range(episodes):
        observation, _ = env.reset(seed=1000 + episode)
        total, weight = 0.0, 1.0
        for step in range(LENGTH):
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, *_, info = env.step(int(action))
            total += weight * float(reward)
            weight *= pomdp.discount or 1.0
            if step >= LENGTH // 2:
                late.append(info["state"] in ends)
        returns.append(total)
    return float(np.mean(returns)), float(np.mean(late))


def train(kind: str, seed: int, steps: int) -> list[dict[str, float]]:
    """The curve of one run: steps, return and share at ends."""
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    discount = rpsr.load_pomdp(DOMAIN).discount or 1.0
    agent = PPO("MlpPolicy", environment(kind), gamma=discount, seed=seed, device="cpu")
    env, curve = environment(kind), []
    while True:
        value, ends = judged(agent, env)
        curve.append({"steps": agent.num_timesteps, "return": value, "ends": ends})
        if agent.num_timesteps >= steps:
            return curve
        agent.learn(4096, reset_num_timesteps=False)


@styled
def plot_agents(document: dict[str, Any]) -> Figure:
    """Returns over training, one line per run, beside the optimum; and the share at the ends."""
    figure = new_figure(PAGE, 3.0)
    panels: Any = figure.subplots(1, 2)
    for i, kind in enumerate(OBSERVATIONS):
        for number, curve in enumerate(document["curves"][kind]):
            x = [point["steps"] / 1000 for point in curve]
            for axes, key in zip(panels, ("return", "ends"), strict=True):
                axes.plot(
                    x,
                    [point[key] for point in curve],
                    color=COLOURS[i],
                    linestyle=DASHES[i],
                    marker=MARKERS[i],
                    markersize=3,
                    linewidth=1.2,
                    label=NAMES[kind] if number == 0 else None,
                )
    panels[0].axhline(document["optimum"], color=COLOURS[6], linewidth=0.9)
    panels[0].text(0, document["optimum"], "optimum", va="bottom", fontsize=8, color=COLOURS[6])
    panels[0].set_ylabel("discounted return")
    panels[0].set_ylim(bottom=0, top=1.15 * document["optimum"])
    panels[1].set_ylabel("share of late steps at an end")
    panels[1].set_ylim(-0.03, 1.1)
    for axes in panels:
        axes.set_xlabel("thousand steps of training")
    panels[1].legend(loc="upper right")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=32_768)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("docs/tutorials/agents.json"))
    options = parser.parse_args()
    plan = rpsr.solve(rpsr.load(DOMAIN), "vi", horizon=LENGTH)
    curves: dict[str, list[Any]] = {}
    for kind in OBSERVATIONS:
        curves[kind] = []
        for seed in range(options.seeds):
            curves[kind].append(train(kind, seed, options.steps))
            print(kind, seed, curves[kind][-1][-1], flush=True)
    document = {"domain": DOMAIN, "optimum": plan.value, "curves": curves}
    options.out.write_text(json.dumps(document) + "\n", encoding="utf-8")
    drawn = svg_text(plot_agents(document))
    options.out.with_suffix(".svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
