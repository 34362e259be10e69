"""The native format of policy files.

A native file is a JSON document with a value function, a controller or a tree. It identifies the
model (name, kind, discount, fingerprint of its POMDP) and lists the actions and observations; it
can be loaded only for a model with the same names. A value function is stored in belief coordinates
if the model has them, so that a plan for an R-PSR can be used on the POMDP and vice versa. If the
domain is unknown, it is stored in the model's own coordinates. Controllers and trees have no
coordinates; their names may be in another order than the model's. The file of a plan for a learned
model contains that model, as the text of its native file: the plan then runs on any system with the
same names, in any order, too.

A value function of more than `LARGE` numbers is stored as arrays, by its parts if it has parts (see
`vector_arrays`): in JSON if the name ends in `.json`, else in an archive of the same document (see
`rpsr.io.archive`). A name that ends in `.npz` means an archive of any size. The content tells the
two apart. Format version 1 has no such arrays in JSON and no parts; smaller files still have it.

A value function acts by the action of the best vector. Its value is then at least the lower bound
that the planner reported. If "look_ahead" is true, it looks one step ahead instead, as plans for
learned models are evaluated.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rpsr._version import __version__
from rpsr.errors import InputError
from rpsr.io.archive import pack_archive, unpack_archive
from rpsr.io.file_kinds import NATIVE_POLICY
from rpsr.io.files import packed, write_bytes
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.renaming import END, renamed
from rpsr.models.store import from_native_bytes, native_bytes
from rpsr.planning.files.vector_arrays import PARTS, as_arrays, as_json, read_vectors
from rpsr.planning.value.controllers import (
    FiniteStateController,
)
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import (
    PartialValueFunction,
    PartialVectors,
    ValueFunction,
)
from rpsr.printable import shortened
from rpsr.showing import Shown, counted

FORMAT_VERSION = 1
WITH_ARRAYS = 2  # the format version of files with the arrays of `vector_arrays`
LARGE = 1 << 16  # numbers: more are stored as arrays
ARCHIVE = b"PK"  # the first bytes of one
_UNFIT = "the policy file is damaged, or was made for another model"
_FOREIGN = "the file is not a policy file of rpsr"


@dataclass(frozen=True, eq=False, repr=False)
class StoredVectors(Shown):
    """A value function from a file, in the coordinates of the model it was loaded for.

    value_function: its vectors and actions; the file has no successors.
    epsilon: its certified error, or None.
    planned_on: the kind of the model that it was planned on; None for the kind of `model`.
    made_for: the file's description of that model, for people.
    look_ahead: whether its policy looks one step ahead, instead of using the vectors' actions.
    """

    model: LinearModel
    value_function: ValueFunction
    epsilon: float | None = None
    planned_on: str | None = None
    made_for: dict[str, Any] = field(default_factory=dict[str, Any])
    look_ahead: bool = False

    @property
    def vectors(self) -> Floats:
        """The vectors, (K, n)."""
        return self.value_function.vectors

    @property
    def actions(self) -> Ints:
        """The action of each vector, (K,)."""
        return self.value_function.actions

    def policy(self) -> AlphaPolicy:
        """The policy of the file; its method `looking_ahead` returns the look-ahead policy."""
        value_function = self.value_function
        actions = None if self.look_ahead else value_function.actions
        return AlphaPolicy(self.model, value_function.vectors, self.epsilon, actions=actions)

    def title(self) -> str:
        """A description in one line."""
        return f"value function of {counted(len(self.value_function), 'vector')}"

    def facts(self) -> list[tuple[str, str]]:
        """The model, and how actions are chosen."""
        way = "looking one step ahead" if self.look_ahead else "by the action of the best vector"
        error = [] if self.epsilon is None else [("epsilon", f"{self.epsilon:.3g}")]
        return [("model", self.model.title()), ("followed", way), *error]


Stored = StoredVectors | FiniteStateController | PolicyTree


def write_native(policy: Stored, model: LinearModel, path: str) -> None:
    """Write a policy that was made for a model, completely or not at all."""
    document: dict[str, Any] = {
        "format": NATIVE_POLICY,  # the first key: `kind_of` finds it at the beginning
        "format_version": FORMAT_VERSION,
        "written_by": __version__,
        "model": {
            "kind": model.kind,
            "name": model.name,
            "discount": model.discount,
            "provenance": model.origin(),
        },
        "actions": model.actions,
        "observations": model.observations,
    }
    if isinstance(policy, FiniteStateController):
        policy.check(model)
        document |= {
            "kind": "controller",
            "first": policy.first,
            **_pack_nodes(policy.actions, policy.successors, model),
        }
    elif isinstance(policy, PolicyTree):
        layers = [_pack_nodes(*layer, model) for layer in policy.layers]
        document |= {"kind": "tree", "root": policy.root, "layers": layers}
    else:
        learned = model.estimator is not None
        own = learned or not model.domain.known
        vectors = policy.value_function.held
        if not (own or isinstance(vectors, PartialVectors)):  # those are in belief coordinates
            vectors = to_beliefs(model, vectors)
        if learned:
            document["carries"] = b64encode(native_bytes(model)).decode("ascii")
        document |= {
            "kind": "vectors",
            "coordinates": "model" if own else "belief",
            "epsilon": policy.epsilon,
            "look_ahead": policy.look_ahead,
            "vector_actions": [model.actions[a] for a in policy.value_function.actions.tolist()],
            "vectors": vectors,
        }
    write_bytes(path, packed(_content(document, path), path))


def _content(document: dict[str, Any], path: str) -> bytes:
    """The bytes of a file with a document, as an archive or as JSON."""
    vectors: Floats | PartialVectors | None = document.get("vectors")
    name, large = path.lower().removesuffix(".gz"), vectors is not None and vectors.size > LARGE
    archive = name.endswith(".npz") or (large and not name.endswith(".json"))
    if isinstance(vectors, PartialVectors) and not large:
        vectors = vectors.dense()
    if archive:
        if isinstance(vectors, PartialVectors):
            plain, arrays = as_arrays(vectors)
            changed = {"format_version": WITH_ARRAYS, "vectors": plain}
            return pack_archive(document | changed, arrays)
        header = {key: value for key, value in document.items() if key != "vectors"}
        return pack_archive(header, {} if vectors is None else {"vectors": vectors})
    if vectors is not None and large:
        document = document | {"format_version": WITH_ARRAYS, "vectors": as_json(vectors)}
    elif isinstance(vectors, np.ndarray):
        document = document | {"vectors": vectors.tolist()}
    try:
        pairs = [
            f'"{key}": {json.dumps(value, allow_nan=False)}' for key, value in document.items()
        ]
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as JSON: {error}", place=path) from None
    return ("{\n" + ",\n".join(pairs) + "\n}\n").encode()


def parse_native(content: bytes, place: str, model: LinearModel, size: int) -> Stored:
    """Parse a file's content; its names must be the model's, for vectors in the same order.

    size: bytes of the file, as it is stored; limits the memory that arrays may take.
    """
    document = _document(content, place, size)
    if "carries" in document:
        return _carried(document, model, place, size)
    in_order = document.get("kind") not in ("controller", "tree")
    for kind, names in (("actions", model.actions), ("observations", model.observations)):
        read = document.get(kind)
        if read != list(names) and (in_order or not _same_names(read, names)):
            raise InputError(
                f"the policy was made for other {kind}: read {_some(read)}, expected "
                f"{_some(list(names))}",
                place=place,
            )
    read = document["observations"]
    seen = np.array([read.index(name) for name in model.observations], dtype=np.int64), len(read)
    try:
        match document["kind"]:
            case "controller":
                nodes, first = _unpack_nodes(document, seen, model), _index(document["first"])
                return FiniteStateController(model.actions, model.observations, *nodes, first)
            case "tree":
                layers = tuple(_unpack_nodes(layer, seen, model) for layer in document["layers"])
                root = _index(document["root"])
                return PolicyTree(model.actions, model.observations, layers, root)
            case "vectors":
                return _vectors(document, model, size)
            case other:
                raise ValueError(f"kind: read {other!r}, expected controller, tree or vectors")
    except KeyError as error:
        raise InputError(f"damaged policy file: {error} is missing", place=place) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{_UNFIT}: {error}", place=place) from None
    except InputError as error:
        raise InputError(f"{_UNFIT}: {error.message}", place=place) from None


def _carried(document: dict[str, Any], system: LinearModel, place: str, size: int) -> StoredVectors:
    """A value function on the model that the file contains, to run on a system."""
    try:
        content = b64decode(document["carries"], validate=True)
        vectors = read_vectors(document["vectors"], size)
        model = from_native_bytes(content, place)
        if not isinstance(model, LinearModel) or vectors.shape[1] != model.dimension:
            raise ValueError(
                f"vectors: read shape {vectors.shape}, which does not fit the model in the file, "
                f"{model}"
            )
        actions = _actions(document["vector_actions"], model)
        _check_count(vectors, actions)
        made_for, ahead = _made_for(document), _look_ahead(document)
    except KeyError as error:
        raise InputError(f"damaged policy file: {error} is missing", place=place) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"damaged policy file: {error}", place=place) from None
    try:
        running = renamed(model, system.actions, system.observations)
    except InputError as error:
        raise InputError(f"the model in the file {error.message}", place=place) from None
    position = [system.actions.index(name) for name in model.actions]
    value_function = unconnected(vectors, np.array(position)[actions], running)
    return StoredVectors(running, value_function, None, made_for["kind"], made_for, ahead)


def _document(content: bytes, place: str, size: int) -> dict[str, Any]:
    document: Any
    try:
        if content.startswith(ARCHIVE):
            header, arrays = unpack_archive(content, place, size, "policy file")
            parts = {key: array for key, array in arrays.items() if key in PARTS}
            stored = header.get("vectors")
            vectors = stored | parts if isinstance(stored, dict) else arrays.get("vectors")
            document = header if vectors is None else header | {"vectors": vectors}
        else:
            document = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the policy file is not JSON: {error.msg}",
            place=place,
            line=error.lineno,
            column=error.colno,
        ) from None
    except UnicodeDecodeError:
        raise InputError(_FOREIGN, place=place) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, thousands of brackets
        message = f"{_FOREIGN}: a number is too long, or lists are nested too deeply"
        raise InputError(message, place=place) from None
    if not isinstance(document, dict) or document.get("format") != NATIVE_POLICY:
        raise InputError(_FOREIGN, place=place)
    read, known = document.get("format_version"), (FORMAT_VERSION, WITH_ARRAYS)
    if read not in known:
        expected = " or ".join(map(str, known))
        raise InputError(
            f"format_version: read {read}, expected {expected}; another version of rpsr wrote "
            "the file",
            place=place,
        )
    return document


def _same_names(read: Any, names: tuple[str, ...]) -> bool:
    """Whether these are the model's names in another order; `END` may be missing from those."""
    if not isinstance(read, list) or not all(isinstance(name, str) for name in read):  # pyright: ignore[reportUnknownVariableType]
        return False
    return set(names) <= set(read) <= {*names, END} and len(set(read)) == len(read)  # pyright: ignore[reportUnknownArgumentType]


def _pack_nodes(actions: Ints, successors: Ints, model: LinearModel) -> dict[str, Any]:
    return {
        "node_actions": [model.actions[a] for a in actions.tolist()],
        "successors": [[None if s < 0 else s for s in row] for row in successors.tolist()],
    }


def _unpack_nodes(
    document: dict[str, Any], seen: tuple[Ints, int], model: LinearModel
) -> tuple[Ints, Ints]:
    """The actions and successors of nodes.

    seen: where the file has the model's observations, and how many it has.
    """
    rows = [[-1 if s is None else _index(s) for s in row] for row in document["successors"]]
    for row in rows:
        if len(row) != seen[1]:
            raise ValueError(
                f"successors: read a row of {len(row)} numbers, expected {seen[1]}, one for each "
                "observation"
            )
    successors = np.array(rows, dtype=np.int64).reshape(len(rows), seen[1])
    return _actions(document["node_actions"], model), successors[:, seen[0]]


def _index(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"read {value!r}, expected an index, a whole number from 0")
    return value


def _vectors(document: dict[str, Any], model: LinearModel, size: int) -> StoredVectors:
    vectors = read_vectors(document["vectors"], size)
    actions, made_for = _actions(document["vector_actions"], model), _made_for(document)
    _check_count(vectors, actions)
    beliefs = model.domain.beliefs and vectors.shape[1] == model.dimension
    if isinstance(vectors, PartialVectors) and not beliefs:
        vectors = vectors.dense()
    if document["coordinates"] == "belief":
        if not isinstance(vectors, PartialVectors):
            vectors = from_beliefs(model, vectors)
    elif made_for["kind"] != model.kind or vectors.shape[1] != model.dimension:
        other = f"for a {made_for['kind']} model of dimension {vectors.shape[1]}"
        raise ValueError(f"read vectors {other}, expected vectors for {model}")
    epsilon = document["epsilon"]
    stored = None if epsilon is None else float(epsilon)
    if stored is not None and not 0 <= stored < np.inf:
        raise ValueError(f"epsilon: read {epsilon!r}, expected a number of at least 0 or null")
    value_function = unconnected(vectors, actions, model)
    return StoredVectors(
        model, value_function, stored, made_for["kind"], made_for, _look_ahead(document)
    )


def unconnected(
    vectors: Floats | PartialVectors, actions: Ints, model: LinearModel
) -> ValueFunction:
    """A value function without successors."""
    successors = np.full((len(vectors), len(model.observations)), -1)
    if isinstance(vectors, PartialVectors):
        return PartialValueFunction.made(vectors, np.column_stack([actions, successors]))
    return ValueFunction(vectors, actions, successors)


def _check_count(vectors: Floats | PartialVectors, actions: Ints) -> None:
    if len(vectors) != len(actions):
        raise ValueError(
            f"vector_actions: read {len(actions)} actions, expected one for each of "
            f"{counted(len(vectors), 'vector')}"
        )


def _made_for(document: dict[str, Any]) -> dict[str, Any]:
    """The description of the model that a file was made for; its kind is text."""
    made_for = document["model"]
    if not isinstance(made_for, dict) or not isinstance(made_for["kind"], str):
        raise ValueError("model: expected an object whose `kind` is text")
    return made_for


def _look_ahead(document: dict[str, Any]) -> bool:
    value = document.get("look_ahead", False)
    if not isinstance(value, bool):
        raise ValueError(f"look_ahead: read {value!r}, expected true or false")
    return value


def _actions(names: list[str], model: LinearModel) -> Ints:
    position = {name: i for i, name in enumerate(model.actions)}
    for name in names:
        if name not in position:
            raise ValueError(f"{name!r} is not an action of the model")
    return np.array([position[name] for name in names], dtype=np.int64)


def _some(names: Any) -> str:
    if not isinstance(names, list):
        return "none"
    more = f", ... ({len(names)} in all)" if len(names) > 6 else ""
    return ", ".join(shortened(str(name)) for name in names[:6]) + more
