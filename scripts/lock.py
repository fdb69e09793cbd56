"""Write the lock files: every dependency at one version, with the hashes of its files.

`requirements/runtime.lock` is what the node needs, `requirements/dev.lock` that and the
tools of this checkout, `requirements/build.lock` what makes the wheel, and
`requirements/browser.lock` what drives a browser. They hold for
CPython 3.11 to 3.13 and name no address, so that they install from whichever index or
mirror the machine is set up with. Versions that a lock already names are kept while
pyproject.toml allows them; `--upgrade` takes the newest.

    .venv/bin/python scripts/lock.py [--upgrade]
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LOCKS = {
    "requirements/dev.lock": ("pyproject.toml", "--group", "dev"),
    "requirements/runtime.lock": ("pyproject.toml",),
    "requirements/leveldb.lock": (
        "pyproject.toml",
        "--extra",
        "leveldb",
        "-c",
        "requirements/dev.lock",
    ),
    "requirements/build.lock": ("--group", "build", "-c", "requirements/dev.lock"),
    "requirements/browser.lock": ("--group", "browser", "-c", "requirements/dev.lock"),
}

OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--quiet",
)

NO_UV = """\
scripts/lock.py needs uv, which is not on PATH. It is a tool of its own and no
dependency of this project: put it into an environment of its own and try again, e.g.

    python3 -m venv /tmp/uv && /tmp/uv/bin/pip install uv
    PATH=/tmp/uv/bin:$PATH .venv/bin/python scripts/lock.py"""


def main(arguments: list[str]) -> int:
    """Write the locks; return the exit code of the process."""
    if unknown := [item for item in arguments if item != "--upgrade"]:
        print(f"unknown argument {unknown[0]}; only --upgrade is known")
        return 2
    uv = shutil.which("uv")
    if uv is None:
        print(NO_UV)
        return 2
    for lock, sources in LOCKS.items():
        command = [uv, "pip", "compile", *sources, *OPTIONS]
        command += [*arguments, f"--output-file={lock}"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code != 0:
            return code
        print(f"wrote {lock}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
