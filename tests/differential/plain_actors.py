"""A plugin of pytest: plain Python beside each execution that coverage counts.

Each message runs as ever, and what the host answered is written down. Then the plain
source runs the same message, as CPython runs any module, with a host that gives the
same answers, and stock coverage.py measures that. Nothing of ours takes part in it but
the modules that actors import. The report of it goes to the file that
`PLAIN_COVERAGE` names.
"""

import builtins
import importlib
import os
from types import SimpleNamespace

import coverage

from pvm import Meter, language
from pvm.driver import interpreter
from pvm.driver.execution_pool import new
from pvm.driver.library_loader import module
from pvm.hashing import keccak256
from pvm.runtime.classes import CLASS_OF
from pvm.tools.arcs import ProbedCode, ProbedExecutor
from tests.unit.test_examples import FOLDER

FILES = {keccak256(path.read_bytes()): path for path in FOLDER.glob("*.py")}
JUDGE = coverage.Coverage(
    data_file=None, branch=True, config_file=False, include=[f"{FOLDER}/*"]
)
PLENTY = 10**9
OF_PYTHON = language.INERT_MODULES | language.COMPILER_MODULES.keys()


class Recorded:
    """A host whose answers are written down."""

    def __init__(self, host):
        self._host, self.answers = host, []

    def __getattr__(self, name):  # noqa: D105
        method = getattr(self._host, name)

        def call(*arguments, **named):
            place = len(self.answers)
            self.answers.append(None)  # what is asked inside of it comes later
            try:
                answer = method(*arguments, **named)
            except BaseException as error:
                self.answers[place] = name, None, error
                raise
            self.answers[place] = name, answer, None
            return answer

        return call


class Replayed:
    """A host that gives answers that were given before, in their order."""

    def __init__(self, answers):
        self._answers = iter(answers)

    def __getattr__(self, name):  # noqa: D105
        def call(*_arguments, **_named):
            asked, answer, error = next(self._answers)
            assert asked == name
            if error is not None:
                raise error
            return answer

        return call


def importing(vm):
    def import_(name, *_arguments):
        if name in OF_PYTHON:
            return importlib.import_module(name)
        # The classes themselves, of which an actor's module has what stands for them.
        errors = {one: CLASS_OF[one] for one in language.MODULE_ERRORS.get(name, ())}
        found = {**vars(module(vm, name)), **errors}
        if name == "cowboy_sdk":  # a class of the library's takes no attributes
            found = {**found, "Actor": type("Actor", (), {})}
        return SimpleNamespace(**found)

    return import_


def run_plainly(path, code, message, answers):
    vm = new()
    handler = interpreter.find_handler(code, message.handlers, message.entry)
    vm.begin(Meter(PLENTY, PLENTY), Replayed(answers), message, handler or "")
    names = {
        "__name__": "actor",
        "__builtins__": {**vars(builtins), "__import__": importing(vm)},
    }
    compiled = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    with JUDGE.collect():
        try:
            exec(compiled, names)
            actor = names[code.actor_class]
            actor.storage = vm.view
            actor.address, actor.deployer = message.actor, message.deployer
            if handler is not None:
                interpreter._call(vm, getattr(actor(), handler))
        except BaseException as error:  # noqa: BLE001 - as an actor's execution
            failed = error
        else:
            failed = None
    return failed


def pytest_configure():
    compile_source, execute = ProbedCode.__init__, ProbedExecutor.execute
    paths = {}

    def compile_and_remember(self, source):
        compile_source(self, source)
        paths[id(self.code)] = FILES[keccak256(source)]

    def execute_twice(self, probed, message, host, meter):
        recorded = Recorded(host)
        outcome, arcs = execute(self, probed, message, recorded, meter)
        path = paths[id(probed.code)]
        failed = run_plainly(path, probed.code, message, recorded.answers)
        assert (failed is None) == (outcome.failure is None), (outcome, failed)
        return outcome, arcs

    ProbedCode.__init__, ProbedExecutor.execute = compile_and_remember, execute_twice


def pytest_sessionfinish():
    JUDGE.json_report(outfile=os.environ["PLAIN_COVERAGE"])
