"""Benchmarks run rarely, so that a renamed class would break them unnoticed: their names exist."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_a_benchmark_imports_from_rpsr_exists(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if (node.module or "").partition(".")[0] == "rpsr"]
    assert own or any(isinstance(node, ast.Import) for node in ast.walk(tree))
    for node in own:
        for alias in node.names:
            try:
                found = hasattr(import_module(node.module), alias.name)
                assert found or import_module(f"{node.module}.{alias.name}")
            except ImportError as error:
                pytest.fail(f"{file.name}:{node.lineno}: {error}")
