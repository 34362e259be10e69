"""A running filter: told of actions and observations one by one, it knows the state."""

from __future__ import annotations

from rpsr.io.records import Floats
from rpsr.models.labels import Label
from rpsr.models.linear import LinearModel


class Filter:
    """The state of a linear model along one history.

    Actions and observations are names or indices. Rewards never enter: what cannot be seen at run
    time cannot be passed.
    """

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self._state = model.start

    @property
    def state(self) -> Floats:
        """The current state, (n,)."""
        return self._state

    def start(self) -> Floats:
        """Forget the history; the start state, (n,)."""
        self._state = self.model.start
        return self._state

    def predict(self, action: Label) -> Floats:
        """Probabilities of the observations that an action would bring, (O,)."""
        return self.model.predict(self._state, action)

    def update(self, action: Label, observation: Label) -> Floats:
        """Take in one interaction; the new state, (n,).

        An observation of probability zero raises `ImpossibleObservation`, and the filter stays as
        it was.
        """
        self._state = self.model.update(self._state, action, observation)
        return self._state
