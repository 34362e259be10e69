"""A rival from deep learning, on the same logs: a recurrent predictor and fitted Q on its state.

A GRU reads (action, observation) pairs and learns to predict the next observation and reward given
the action; rewards are targets while training and never inputs, so the network runs without them.
Its hidden state then serves as the state of a Q function, fitted to the log by
regression on bootstrapped targets. Needs torch, which rpsr itself does not.

    python examples/gru.py loadunload --episodes 1000 --seed 0
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn

import rpsr
from rpsr.evaluation import StochasticController, returns, simulate


class Predictor(nn.Module):
    """Hidden state before each step, and what an action there would show and earn."""

    def __init__(self, n_actions: int, n_observations: int, width: int = 64) -> None:
        super().__init__()
        self.n_actions, self.n_observations = n_actions, n_observations
        self.cell = nn.GRU(n_actions + n_observations, width, batch_first=True)
        self.start = nn.Parameter(torch.zeros(width))
        self.sights = nn.Linear(width, n_actions * n_observations)
        self.rewards = nn.Linear(width, n_actions)

    def pairs(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """One-hot pairs, (N, T) and (N, T) -> (N, T, A + O)."""
        return torch.cat(
            [
                nn.functional.one_hot(actions, self.n_actions),
                nn.functional.one_hot(observations, self.n_observations),
            ],
            dim=-1,
        ).float()

    def states(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """The state before each step and after the last, (N, T + 1, width)."""
        first = self.start.expand(1, len(actions), -1).contiguous()
        after, _ = self.cell(self.pairs(actions, observations), first)
        return torch.cat([first[0][:, None], after], dim=1)


def train(log: rpsr.logs.Trajectories, epochs: int, seed: int) -> Predictor:
    """Fit the predictor; episodes must all have the same length."""
    torch.manual_seed(seed)
    actions = torch.tensor(log.padded("actions", 0))
    observations = torch.tensor(log.padded("observations", 0))
    rewards = torch.tensor(log.padded("rewards", 0.0), dtype=torch.float32)
    scale = rewards.std().clamp(min=1e-6)
    model = Predictor(len(log.action_names), len(log.observation_names))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(actions)).split(64):
            a, o, r = actions[batch], observations[batch], rewards[batch]
            states = model.states(a, o)[:, :-1]
            logits = model.sights(states).unflatten(-1, (model.n_actions, -1))
            logits = torch.take_along_dim(logits, a[..., None, None], dim=2)[:, :, 0]
            earned = torch.take_along_dim(model.rewards(states), a[..., None], dim=2)[..., 0]
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), o.flatten())
            loss = loss + nn.functional.mse_loss(earned, r / scale)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


def fit_q(model: Predictor, log: rpsr.logs.Trajectories, discount: float, rounds: int) -> nn.Module:
    """Q on the hidden state: regression on one-step targets of the round before."""
    actions = torch.tensor(log.padded("actions", 0))
    observations = torch.tensor(log.padded("observations", 0))
    rewards = torch.tensor(log.padded("rewards", 0.0), dtype=torch.float32)
    with torch.no_grad():
        states = model.states(actions, observations)
    before, after = states[:, :-1].flatten(0, 1), states[:, 1:].flatten(0, 1)
    a, r = actions.flatten(), rewards.flatten()
    scale = r.abs().max().clamp(min=1e-6)
    width = before.shape[1]
    q = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, model.n_actions))
    optimiser = torch.optim.Adam(q.parameters(), lr=1e-3)
    for _ in range(rounds):
        with torch.no_grad():
            target = r / scale + discount * q(after).max(dim=1).values
        for batch in torch.randperm(len(a)).split(1024):
            value = torch.take_along_dim(q(before[batch]), a[batch, None], dim=1)[:, 0]
            loss = nn.functional.mse_loss(value, target[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return q


class RecurrentPolicy:
    """Greedy for Q on the network's state; told of actions and observations only."""

    def __init__(self, model: Predictor, q: nn.Module, names: tuple[tuple[str, ...], ...]) -> None:
        self.model, self.q = model, q
        self.actions, self.observations = names
        self.start()

    @property
    def memory(self) -> np.ndarray:
        """The hidden state."""
        return self._state.numpy().astype(np.float64)

    def start(self) -> None:
        """Forget the history."""
        self._state = self.model.start.detach().clone()

    def act(self) -> int:
        """The action of the highest value."""
        with torch.no_grad():
            return int(self.q(self._state).argmax())

    def update(self, action: int | str, observation: int | str) -> None:
        """Read one pair."""
        a = self.actions.index(action) if isinstance(action, str) else int(action)
        o = self.observations.index(observation) if isinstance(observation, str) else observation
        with torch.no_grad():
            pair = self.model.pairs(torch.tensor([[a]]), torch.tensor([[int(o)]]))
            self._state = self.model.cell(pair, self._state[None, None])[1][0, 0]


def main() -> None:
    """Learn from a uniform log of a domain and say what the policy earns there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("domain")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pomdp = rpsr.load_pomdp(given.domain).with_discount("0.95")
    anything = StochasticController.stationary(pomdp)
    log = simulate(
        pomdp,
        anything,
        episodes=given.episodes,
        steps=20,
        seed=given.seed,
        rewards=True,
        ends=False,
    )
    model = train(log, given.epochs, given.seed)
    q = fit_q(model, log, 0.95, given.rounds)
    policy = RecurrentPolicy(model, q, (pomdp.actions, pomdp.observations))
    tested = simulate(pomdp, policy, episodes=given.trials, steps=100, seed=1, ends=False)
    values = returns(tested, pomdp.belief_model())
    error = values.std() / np.sqrt(len(values))
    print(f"{given.domain}: {values.mean():.3f} +- {error:.3f} in 100 steps")


if __name__ == "__main__":
    main()
