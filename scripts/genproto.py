"""Generate node/rpc/v1 from proto/node/rpc/v1, or check that it is fresh.

    python scripts/genproto.py [--check]

The sources lie under the path of the package that they become, so that generated
modules import one another as `node.rpc.v1.…` without any help.
"""

import argparse
import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto" / "node" / "rpc" / "v1"
TARGET = Path("node") / "rpc" / "v1"
PACKAGE_FILES = {"__init__.py"}
PLUGINS = {"python": "", "mypy": "quiet:", "grpc_python": "", "mypy_grpc": "quiet:"}


def main() -> int:
    """Exit code: 0 fresh or written, 1 stale or broken sources."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail on a difference"
    )
    is_check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder)
        if not generate(generated):
            return 1
        fresh = read_all(generated / TARGET)
    committed = read_all(ROOT / TARGET)
    stale = sorted(
        name
        for name in fresh.keys() | committed.keys()
        if fresh.get(name) != committed.get(name)
    )
    if is_check:
        if stale:
            print(f"stale: {', '.join(stale)}: run scripts/genproto.py")
        return 1 if stale else 0
    for name in stale:
        path = ROOT / TARGET / name
        if name in fresh:
            path.write_bytes(fresh[name])
        else:
            path.unlink()
    print(f"{TARGET}: {len(fresh)} files, {len(stale)} changed")
    return 0


def generate(folder: Path) -> bool:
    """Run protoc over all sources; whether it succeeded."""
    includes = resources.files("grpc_tools") / "_proto"
    # protoc looks for its plugins in the path: those beside this interpreter.
    plugins = [
        f"--plugin=protoc-gen-{name}={find_plugin(f'protoc-gen-{name}')}"
        for name in ("mypy", "mypy_grpc")
    ]
    sources = sorted(str(path) for path in SOURCES.glob("*.proto"))
    outputs = [f"--{plugin}_out={prefix}{folder}" for plugin, prefix in PLUGINS.items()]
    arguments = [f"-I{ROOT / 'proto'}", f"-I{includes}", *plugins, *outputs, *sources]
    return int(protoc.main(["protoc", *arguments])) == 0


def find_plugin(name: str) -> str:
    """Where a plugin of protoc lies."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name, path=beside) or shutil.which(name)
    if found is None:
        sys.exit(f"{name} is missing: install the dependency group `proto`")
    return found


def read_all(folder: Path) -> dict[str, bytes]:
    """Generated files of a folder by name."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name not in PACKAGE_FILES
    }


if __name__ == "__main__":
    sys.exit(main())
