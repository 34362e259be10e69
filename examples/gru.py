"""A deep-learning baseline on the same logs: a recurrent predictor, and fitted Q on its state.

A GRU reads interactions (action, observation) and learns to predict the next observation and reward
given the action. Rewards are training targets and never inputs, so the network runs without them.
Rewards are predicted as one of up to 20 bins, whose means give the expected reward; so a rare
reward of -100 does not dominate the loss. Q on the hidden state is the predicted reward plus a
regression of the discounted value after it, by fitted Q iteration on the log. Episodes may differ
in length: padding has no weight, and the value after the end of a task is 0. Needs torch, which
rpsr itself does not.

    python examples/gru.py loadunload --episodes 1000 --seed 0
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import rpsr
from rpsr.evaluation import StochasticController, returns, sampler, simulate
from rpsr.logs import Trajectories, from_arrays

BINS = 20  # of rewards; with fewer distinct values, one bin per value


@dataclass(frozen=True)
class Episodes:
    """A log as tables (N, T). levels: the bin of each reward. taken: false for padding.

    last: whether the task ended with this step. means (K,): the mean reward of each bin.
    """

    actions: torch.Tensor
    observations: torch.Tensor
    levels: torch.Tensor
    taken: torch.Tensor
    last: torch.Tensor
    means: torch.Tensor

    @staticmethod
    def of(log: Trajectories) -> Episodes:
        """The tables of a log, which must have rewards."""
        rewards = log.padded("rewards", np.inf)
        steps = np.arange(rewards.shape[1])
        taken = steps < log.lengths[:, None]
        edges = np.unique(rewards[taken])
        if len(edges) > BINS:
            edges = np.unique(np.quantile(rewards[taken], np.arange(BINS) / BINS))
        levels = np.searchsorted(edges, rewards, side="right") - 1
        means = [rewards[taken & (levels == k)].mean() for k in range(len(edges))]
        return Episodes(
            torch.tensor(log.padded("actions", 0)),
            torch.tensor(log.padded("observations", 0)),
            torch.tensor(levels),
            torch.tensor(taken),
            torch.tensor((steps == log.lengths[:, None] - 1) & log.terminated[:, None]),
            torch.tensor(np.array(means), dtype=torch.float32),
        )

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, rows: torch.Tensor) -> Episodes:
        *tables, means = vars(self).values()
        return Episodes(*(table[rows] for table in tables), means)


class Predictor(nn.Module):
    """A recurrent state, and predictions of observation and reward for each action."""

    def __init__(
        self, n_actions: int, n_observations: int, means: torch.Tensor, width: int = 64
    ) -> None:
        super().__init__()
        self.shape = (n_actions, n_observations)
        self.cell = nn.GRU(n_actions + n_observations, width, batch_first=True)
        self.start = nn.Parameter(torch.zeros(width))
        self.observations = nn.Linear(width, n_actions * n_observations)
        self.levels = nn.Linear(width, n_actions * len(means))
        self.register_buffer("means", means)

    def pairs(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """One-hot interactions, (N, T) and (N, T) -> (N, T, A + O)."""
        return torch.cat(
            [
                nn.functional.one_hot(labels, size)
                for labels, size in zip((actions, observations), self.shape, strict=True)
            ],
            dim=-1,
        ).float()

    def states(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """The state before each step and after the last, (N, T + 1, width)."""
        first = self.start.expand(1, len(actions), -1).contiguous()
        after, _ = self.cell(self.pairs(actions, observations), first)
        return torch.cat([first[0][:, None], after], dim=1)

    def rewards(self, states: torch.Tensor) -> torch.Tensor:
        """The expected reward of each action, (B, width) -> (B, A)."""
        return self.levels(states).unflatten(-1, (self.shape[0], -1)).softmax(-1) @ self.means

    def loss(self, log: Episodes) -> torch.Tensor:
        """Cross-entropy of observation and reward, in nats per step."""
        states = self.states(log.actions, log.observations)[:, :-1][log.taken]
        steps, actions = torch.arange(len(states)), log.actions[log.taken]
        return sum(
            nn.functional.cross_entropy(
                head(states).unflatten(-1, (self.shape[0], -1))[steps, actions], target[log.taken]
            )
            for head, target in ((self.observations, log.observations), (self.levels, log.levels))
        )


def train(log: Trajectories, *, epochs: int = 200, patience: int = 20, seed: int = 0) -> Predictor:
    """Fit the predictor until the loss on held-out episodes, a tenth of all, stops falling."""
    torch.manual_seed(seed)
    episodes = Episodes.of(log)
    held_out, rest = torch.randperm(len(episodes)).tensor_split([max(1, len(episodes) // 10)])
    size = min(64, max(4, len(rest) // 15))  # batch size: small for small logs
    model = Predictor(len(log.action_names), len(log.observation_names), episodes.means)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    best, least, waited = copy.deepcopy(model.state_dict()), np.inf, 0
    for _ in range(epochs):
        for batch in rest[torch.randperm(len(rest))].split(size):
            optimiser.zero_grad()
            model.loss(episodes[batch]).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(model.loss(episodes[held_out]))
        waited += 1
        if loss < least:
            best, least, waited = copy.deepcopy(model.state_dict()), loss, 0
        elif waited >= patience:
            break
    model.load_state_dict(best)
    return model


class Values(nn.Module):
    """Q on the hidden state: predicted reward plus discount times a fitted value after it."""

    def __init__(self, model: Predictor, discount: float, unit: float, hidden: int = 64) -> None:
        super().__init__()
        width, n_actions = model.start.shape[0], model.shape[0]
        self.model, self.discount, self.unit = model, discount, unit
        self.following = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, n_actions)
        )

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Values in units of reward, (B, width) -> (B, A)."""
        return self.model.rewards(states) / self.unit + self.discount * self.following(states)


def fit_q(
    model: Predictor, log: Trajectories, discount: float, *, rounds: int = 100, seed: int = 0
) -> Values:
    """Fitted Q iteration: each round regresses `following` on the last round's best next value.

    The target is 0 after the end of a task, and the value of the last state after the end of a
    recording. Targets are clipped to r_min / (1 - discount) and r_max / (1 - discount), so that
    values of states unlike those of the log do not diverge.
    """
    torch.manual_seed(seed)
    episodes = Episodes.of(log)
    taken = episodes.taken
    with torch.no_grad():
        states = model.states(episodes.actions, episodes.observations)
    before, after = states[:, :-1][taken], states[:, 1:][taken]
    actions, continues = episodes.actions[taken], ~episodes.last[taken]
    unit = float(episodes.means[episodes.levels[taken]].std()) or 1.0
    q = Values(model, discount, unit)
    least, most = (float(end) / unit / (1 - discount) for end in episodes.means.aminmax())
    size = min(512, max(16, len(actions) // 40))  # of a batch
    optimiser = torch.optim.Adam(q.following.parameters(), lr=1e-3)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds)
    for _ in range(rounds):
        with torch.no_grad():
            target = q(after).max(dim=1).values.clamp(least, most) * continues
        for batch in torch.randperm(len(actions)).split(size):
            value = q.following(before[batch])[torch.arange(len(batch)), actions[batch]]
            optimiser.zero_grad()
            nn.functional.mse_loss(value, target[batch]).backward()
            optimiser.step()
        slower.step()
    return q


class RecurrentPolicy:
    """Greedy for Q on the network's state; it receives actions and observations only.

    It follows one episode, as every policy does, or, with `reset(B)`, `act_all` and `update_all`,
    B episodes in parallel.
    """

    def __init__(self, q: Values, names: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        self.q, self.model = q, q.model
        self.actions, self.observations = names
        self.reset()

    @property
    def memory(self) -> np.ndarray:
        """The hidden state of the first episode."""
        return self._states[0].numpy().astype(np.float64)

    def reset(self, batch: int = 1) -> None:
        """Forget the history."""
        self._states = self.model.start.detach().repeat(batch, 1)

    def act(self) -> int:
        """The action of the highest value."""
        return int(self.act_all()[0])

    def act_all(self) -> np.ndarray:
        """The action of the highest value in each episode, (B,)."""
        with torch.no_grad():
            return self.q(self._states).argmax(dim=1).numpy()

    def update(self, action: int | str, observation: int | str) -> None:
        """Read one interaction."""
        a = self.actions.index(action) if isinstance(action, str) else action
        o = self.observations.index(observation) if isinstance(observation, str) else observation
        self.update_all(np.array([a]), np.array([o]))

    def update_all(self, actions: np.ndarray, observations: np.ndarray) -> None:
        """Read one interaction per episode, (B,) and (B,)."""
        with torch.no_grad():
            pairs = self.model.pairs(torch.tensor(actions), torch.tensor(observations))
            self._states = self.model.cell(pairs[:, None], self._states[None])[1][0]


def learn(log: Trajectories, discount: float, seed: int = 0) -> RecurrentPolicy:
    """A policy from a log."""
    q = fit_q(train(log, seed=seed), log, discount, seed=seed)
    return RecurrentPolicy(q, (log.action_names, log.observation_names))


def earned(
    pomdp: rpsr.POMDP, policy: RecurrentPolicy, episodes: int, steps: int, seed: int
) -> np.ndarray:
    """Expected returns of the policy along simulated histories, (episodes,).

    All episodes run in parallel; `rpsr.evaluation.simulate` would run this policy one by one.
    """
    rng, system = np.random.default_rng(seed), sampler(pomdp)
    actions, observations = np.zeros((2, episodes, steps), dtype=np.int64)
    policy.reset(episodes)
    at = system.begin(rng, episodes)
    for step in range(steps):
        actions[:, step] = policy.act_all()
        at, observations[:, step], _ = system.step(rng, at, actions[:, step])
        policy.update_all(actions[:, step], observations[:, step])
    log = from_arrays(
        actions, observations, action_names=pomdp.actions, observation_names=pomdp.observations
    )
    return returns(log, pomdp.belief_model())


def main() -> None:
    """Learn from a uniform log of a domain and print the return of the policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("domain")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pomdp = rpsr.load_pomdp(given.domain).with_discount("0.95")
    log = simulate(
        pomdp,
        StochasticController.stationary(pomdp),
        episodes=given.episodes,
        steps=20,
        seed=given.seed,
        rewards=True,
    )
    values = earned(pomdp, learn(log, 0.95, given.seed), given.trials, steps=100, seed=1)
    error = values.std() / np.sqrt(len(values))
    print(f"{given.domain}: {values.mean():.3f} +- {error:.3f} in 100 steps")


if __name__ == "__main__":
    main()
