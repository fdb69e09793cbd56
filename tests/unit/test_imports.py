"""`pvm.compiler.syntax.imports`: which module an import means; two forms are left."""

import ast

import pytest

from pvm.compiler.syntax.imports import ModuleNames, nothing, real_name, resolve

MODULES = {
    name: ModuleNames(frozenset())
    for name in ("box", "cowboy_sdk", "cowboy_sdk.runtime", "pvm_random")
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import box", "import box"),
        ("import box as b", "import box as b"),
        ("import random", "import pvm_random as random"),
        ("import random as r", "import pvm_random as r"),
        ("from random import a, b as c", "from pvm_random import a, b as c"),
        ("import pvm_sdk", "import cowboy_sdk as pvm_sdk"),
        ("import cowboy_sdk.runtime", "import cowboy_sdk"),
        ("import pvm_sdk.runtime", "import cowboy_sdk as pvm_sdk"),
        ("import cowboy_sdk.runtime as r", "import cowboy_sdk.runtime as r"),
        ("from cowboy_sdk import runtime", "import cowboy_sdk.runtime as runtime"),
        (
            "from pvm_sdk import actor, runtime as r",
            "import cowboy_sdk.runtime as r\nfrom cowboy_sdk import actor",
        ),
        ("from cowboy_sdk.runtime import x", "from cowboy_sdk.runtime import x"),
        ("from . import x", "from . import x"),
        ("import os", "import os"),
        ("import os.path", "import os.path as os"),
    ],
)
def test_imports_are_resolved(source, expected):
    tree = ast.parse(source)
    resolve(tree, MODULES.get)
    assert ast.unparse(tree) == expected
    assert all(node.lineno == 1 for node in tree.body)


def test_a_module_has_one_name():
    assert real_name("pvm_sdk.runtime") == "cowboy_sdk.runtime"
    assert real_name("json") == "json"
    assert nothing("json") is None
