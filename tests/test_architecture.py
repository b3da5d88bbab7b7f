"""The import table of README's "How it is built", read from the source: imports go one way, without cycles."""

import ast
from pathlib import Path

import pytest

import pytest_llmkg

PACKAGE = Path(pytest_llmkg.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# Room -> the rooms that it may import, besides itself. "words" is imported by all.
WORDS = {"records", "errors", "plain", "sealing", "data_files", "result_files", "__init__"}
CONTRACTS = {"contracts", "registry", "signature", "suite_signature"}
GROUND = {"kg", "extraction", "cases", "models", "endpoints"}
PARTS = {"metrics", "connectors", "pipelines"}
RUN = {"dialogue", "scheduling", "answer_cache", "rescore"}
DOORS = {
    "options",
    "hookspecs",
    "suite",
    "session",
    "wrapping",
    "workshop",
    "gatekeeper",
    "plugin",
    "cli",
    "commands",
    "rescoring",
    "__main__",
}
MAY_IMPORT = {
    **dict.fromkeys(WORDS, WORDS),
    **dict.fromkeys(CONTRACTS, WORDS | CONTRACTS),
    **dict.fromkeys(GROUND, WORDS | CONTRACTS | GROUND),
    "metrics": WORDS | CONTRACTS | GROUND,
    "connectors": WORDS | CONTRACTS,
    "connectors.symbolic": WORDS | CONTRACTS | {"kg", "extraction", "connectors"},
    "connectors.copy_nearest": WORDS | CONTRACTS | {"pipelines", "connectors"},
    "connectors.rag": WORDS | CONTRACTS | {"pipelines", "connectors"},
    "pipelines": WORDS | CONTRACTS | GROUND,
    "tasks": WORDS | CONTRACTS | GROUND | {"metrics"},
    **dict.fromkeys(RUN, WORDS | CONTRACTS | RUN),
    **dict.fromkeys(("store", "interchange"), WORDS | CONTRACTS),
    **dict.fromkeys(("merging", "baselines"), WORDS | CONTRACTS | {"store"}),
    "analysis": WORDS | CONTRACTS,
    "gate": WORDS | CONTRACTS | {"analysis"},
    "reporting": WORDS | CONTRACTS | {"analysis", "gate"},
}
# A library and the rooms that may import it; connectors import their own SDK inside a function.
ONLY_IN = {
    "rdflib": {"kg"},
    "pyoxigraph": {"kg"},
    "pyparsing": {"kg"},
    "aiohttp": {"connectors", "commands"},
    "litellm": {"connectors"},
    "xllamacpp": {"connectors"},
    "jinja2": {"reporting"},
    "pyzipper": {"result_files"},
    "cryptography": {"sealing"},
    "ray": {"rescoring"},
    "pytest": DOORS,
    "_pytest": set(),
}
LAZY = {"aiohttp", "litellm", "matplotlib", "numpy", "scipy", "rdflib", "pyoxigraph", "jinja2", "xllamacpp", "pyzipper"}
LAZY |= {"cryptography", "ray"}


def room(module: str) -> str:
    """The row of the table: the module's package, or a part of it that has a row of its own."""
    parts = module.split(".")
    own = ".".join(parts[:2])
    return own if own in MAY_IMPORT else parts[0]


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Full names of imported modules; type-checking imports count, since a reader follows them, too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return found


def own_imports(path: Path) -> set[str]:
    """Imported modules of this package, by their names inside it."""
    names = {name.removeprefix("pytest_llmkg.") for name in imports(path) if name.startswith("pytest_llmkg.")}
    return {name for name in names if name in MODULES}


def test_every_room_is_in_the_table() -> None:
    rooms = {room(module) for module in MODULES if module}
    assert rooms <= MAY_IMPORT.keys() | DOORS, "a new room needs a line in the table"


@pytest.mark.parametrize("module", [m for m in MODULES if m and room(m) not in DOORS])
def test_imports_go_one_way(module: str) -> None:
    allowed = MAY_IMPORT[room(module)] | {room(module)}
    wrong = {name for name in own_imports(MODULES[module]) if room(name) not in allowed}
    assert not wrong, f"{module} must not import {sorted(wrong)}"


def test_nobody_imports_the_doors() -> None:
    for module, path in MODULES.items():
        if module and room(module) not in DOORS:
            assert not {room(name) for name in own_imports(path)} & DOORS, module


def test_no_cycles() -> None:
    # A package's own __init__ gathers its parts, which is no cycle as long as the parts do not look back.
    graph = {module: own_imports(path) - {module} for module, path in MODULES.items() if module}
    finished: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"import cycle: {' -> '.join((*way[way.index(module) :], module))}"
        if module not in finished:
            for target in sorted(graph[module]):
                visit(target, (*way, module))
            finished.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("module", [m for m in MODULES if m])
def test_libraries_stay_in_their_rooms(module: str) -> None:
    libraries = {name.split(".")[0] for name in imports(MODULES[module])}
    wrong = {name for name in libraries & ONLY_IN.keys() if room(module).split(".")[0] not in ONLY_IN[name]}
    assert not wrong, f"{module} must not import {sorted(wrong)}"


@pytest.mark.parametrize("module", [m for m in MODULES if m])
def test_heavy_libraries_are_imported_by_the_function_that_needs_them(module: str) -> None:
    libraries = {name.split(".")[0] for name in imports(MODULES[module], top_level_only=True)}
    wrong = libraries & LAZY
    # The sandbox's own process is the one place that always needs the engines.
    assert not wrong or module == "kg.worker", f"{module} imports {sorted(wrong)} when it is loaded"


@pytest.mark.parametrize("module", [m for m in MODULES if m])
def test_modules_and_functions_stay_small(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    assert text.count("\n") <= 300, f"{module} has more than 300 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1 - len((ast.get_docstring(node) or "").splitlines())
            assert length <= 40, f"{module}.{node.name} has {length} lines"
