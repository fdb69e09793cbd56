"""The policy of names, attributes, calls and other expressions (sandbox.md §1)."""

import ast
from collections.abc import Iterable

from msgspec.structs import replace

from pvm import language
from pvm.compiler.lowering import decorators
from pvm.compiler.policy.context import PolicyWalk, Position
from pvm.compiler.policy.values import (
    check_constant,
    check_f_string_field,
    instead_of,
    is_super,
)
from pvm.compiler.syntax.visitor import children, walk


class PolicyOfExpressions(PolicyWalk):
    """Expressions."""

    def _check_name(self, node: ast.Name, _position: Position) -> None:
        if node.id in self.plain:
            return
        before = len(self.refusals)
        self._check_first(node)
        if len(self.refusals) == before and node.id not in self.facts.imports:
            self.plain.add(node.id)

    def _check_first(  # noqa: PLR0911 - a line for each kind of name
        self, node: ast.Name
    ) -> None:
        """A name that was not admitted yet."""
        self.check_identifier(node, node.id)
        if self._is_misplaced(node, node.id):
            return
        if not isinstance(node.ctx, ast.Load) or node.id in self.facts.bound:
            return
        if node.id in language.FUNCTIONS or node.id in language.EXCEPTIONS:
            return
        if node.id in self.facts.modules:
            return
        if node.id in language.DECORATORS:
            self.refuse(node, f"{node.id} is a decorator of methods only")
            return
        if node.id in language.SPECIAL_NAMES:
            self.refuse(node, f"{node.id} can only be called, with literal names")
            return
        unknown = f"the name {node.id!r} is not defined", ""
        if node.id in self.facts.inert:
            unknown = f"{node.id} is a name of annotations only", "nothing"
        reason, instead = language.REFUSED_NAMES.get(node.id, unknown)
        self.refuse(node, reason, instead)

    def _is_misplaced(self, node: ast.Name | ast.Attribute, name: str) -> bool:
        """Whether an imported name stands where it may not; refuses it."""
        if isinstance(node, ast.Name) and name not in self.facts.imports:
            return False
        place = language.COMPILER_PLACES.get(self.facts.meaning(node))
        if decorators.decorator_name(node, self.facts) is not None:
            self.refuse(node, f"{name} only decorates", f"@{name}")
        elif self.is_module_error(node) and isinstance(node.ctx, ast.Load):
            self.refuse(node, _MODULE_ERROR_REASON)
        elif place is not None:
            self.refuse(node, f"{name} is {place}")
        else:
            return False
        return True

    def _check_attribute(self, node: ast.Attribute, position: Position) -> None:
        is_read = isinstance(node.ctx, ast.Load)
        if is_read and node.attr == "__name__" and self.is_class_of(node.value):
            for part in children(node.value):
                if not (isinstance(part, ast.Name) and part.id == "type"):
                    self.check(part, position)
            return
        if is_super(node.value):
            if node.attr not in language.DUNDER_METHODS:
                self._check_attribute_name(node)
            self._check_super(node.value, position)
            return
        self._check_attribute_name(node)
        self.check(node.value, position)

    def _check_attribute_name(self, node: ast.Attribute) -> None:
        name = node.attr
        module = self._module_of(node.value)
        if module is None and name in self.plain_attributes:
            return
        if name.startswith("__"):
            instead = language.ABSENT_ATTRIBUTES.get(name, "")
            self.refuse(
                node, f"the attribute {name} is CPython's own business", instead
            )
        elif name in language.NEVER_ATTRIBUTES:
            self.refuse(node, f"the attribute {name} inspects the interpreter")
        elif name == "args" and not isinstance(node.ctx, ast.Load):
            self.refuse(node, "args is an exception's own", "another name")
        elif module is not None:
            self._check_export(node, module)
        elif (
            name not in self.attributes
            and not is_super(node.value)
            and not (self.has_references and isinstance(node.ctx, ast.Load))
        ):
            instead = language.ABSENT_ATTRIBUTES.get(name, "")
            reason = f"no class of this module and no builtin has {name!r}"
            self.refuse(node, reason, instead)
        else:
            self.check_identifier(node, name)
            if name in self.admitted and name in self.attributes and name != "args":
                self.plain_attributes.add(name)

    def _module_of(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.facts.modules.get(node.id)
        return None

    def _check_export(self, node: ast.Attribute, module: str) -> None:
        is_read = isinstance(node.ctx, ast.Load)
        if is_read and (module, node.attr) in self.plain_exports:
            return
        if not is_read:
            self.refuse(node, f"the module {module} cannot be changed")
        elif node.attr not in self.names_of(module).exports:
            reason = f"the module {module} has no {node.attr!r}"
            self.refuse(node, reason, instead_of(module, node.attr))
        elif not self._is_misplaced(node, node.attr):
            self.plain_exports.add((module, node.attr))

    def _check_super(self, node: ast.expr, position: Position) -> None:
        is_method = position.is_method and not position.in_comprehension
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            self.refuse(node, "super takes no arguments", "super().method()")
        elif not is_method or position.is_generator:
            self.refuse(node, "super() stands outside of a method", "Base.method(self)")
        elif not self.facts.is_universal("super"):
            self.refuse(node, "super is rebound in this module", "another name")

    def _check_call(self, node: ast.Call, position: Position) -> None:
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg.startswith("_"):
                self.refuse(keyword, "a keyword argument starts with an underscore")
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name and name not in self.facts.bound:
            if name in {"getattr", "hasattr"}:
                self._check_getattr(node, name)
                self._check_passed(node, position)
                return
            if name in {"isinstance", "issubclass"}:
                self._check_isinstance(node, name, position)
                return
            if name == "type" and (len(node.args) != 1 or node.keywords):
                self.refuse(node, "type takes one argument", "a class statement")
        self.check(node.func, position)
        self._check_passed(node, position)

    def _check_isinstance(self, node: ast.Call, name: str, position: Position) -> None:
        if len(node.args) != 2 or node.keywords:  # noqa: PLR2004 - as Python's
            self.refuse(node, f"{name} takes a value and a class")
            return
        self.check(node.args[0], position)
        self.check_class_name(node.args[1], position)

    def _check_passed(self, node: ast.Call, position: Position) -> None:
        self._check_items(node.args, position)
        for keyword in node.keywords:
            self.check(keyword.value, position)

    def _check_items(self, items: Iterable[ast.expr], position: Position) -> None:
        """Items of a display or a target, or arguments: each may be spread."""
        for item in items:
            self.check(item.value if isinstance(item, ast.Starred) else item, position)

    def _check_tuple(
        self, node: ast.Tuple | ast.List | ast.Set, position: Position
    ) -> None:
        self._check_items(node.elts, position)

    _check_list = _check_set = _check_tuple

    def _check_starred(self, node: ast.Starred, position: Position) -> None:
        self.refuse(node, "a star stands where nothing is spread", "a list around it")
        self.check(node.value, position)

    def _check_getattr(self, node: ast.Call, name: str) -> None:
        wanted = {"getattr": (2, 3), "hasattr": (2,)}[name]
        if len(node.args) not in wanted or node.keywords:
            self.refuse(node, f"{name} takes an object and a literal name")
            return
        match node.args[1]:
            case ast.Constant(value=str(attribute)):
                pass
            case _:
                self.refuse(
                    node, f"the name {name} looks up is not a literal", "a dict"
                )
                return
        if attribute in language.NEVER_ATTRIBUTES or attribute.startswith("__"):
            self.refuse(node, f"the attribute {attribute} inspects the interpreter")
        elif not attribute.isidentifier():
            self.refuse(node, f"{attribute!r} is no attribute name")
        else:
            self.check_identifier(node, attribute)

    def _check_compare(self, node: ast.Compare, position: Position) -> None:
        sides = [node.left, *node.comparators]
        if len(node.ops) > language.COMPARISONS_MAX:
            reason = f"a chain of more than {language.COMPARISONS_MAX} comparisons"
            self.refuse(node, reason, "two of them joined by `and`")
        has_is = False
        for index, operator in enumerate(node.ops):
            if operator.__class__ not in _IDENTITIES:
                continue
            has_is = True
            if not any(map(self._has_identity, sides[index : index + 2])):
                self.refuse(node, "`is` compares with None, True, False, a class", "==")
        is_type_call = any(map(self.is_class_of, sides))  # once: a chain may be long
        for side in sides:
            if has_is and self.is_module_error(side):
                self.refuse(
                    node, "`is` with an exception of a native module", "isinstance"
                )
            elif has_is or (is_type_call and isinstance(side, ast.Name)):
                self.check_class_name(side, position)
            else:
                self.check(side, position)

    def _has_identity(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=None | True | False):
                return True
            case ast.Name(id=name):
                is_builtin = name in language.EXCEPTIONS or name in language.CLASSES
                return name in self.facts.classes or (
                    is_builtin and self.facts.is_universal(name)
                )
            case ast.Call():
                return self.is_class_of(node)
            case ast.Attribute(value=ast.Name(id=name)):
                return self.facts.is_enum(name)
            case _:
                return False

    def _check_subscript(self, node: ast.Subscript, position: Position) -> None:
        if isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Slice):
            reason = "a slice among several targets"
            self.refuse(node, reason, "an assignment of its own")
        self.check_children(node, position)

    def _check_constant(self, node: ast.Constant, _position: Position) -> None:
        for reason, instead in check_constant(node.value):
            self.refuse(node, reason, instead)

    def _check_binop(self, node: ast.BinOp, position: Position) -> None:
        is_text = isinstance(node.left, ast.JoinedStr) or (
            isinstance(node.left, ast.Constant)
            and isinstance(node.left.value, str | bytes)
        )
        if isinstance(node.op, ast.Mod) and is_text:
            self.refuse(node, "% on text has unbounded widths", "an f-string")
        self.check(node.left, position)
        self.check_operator(node, node.op)
        self.check(node.right, position)

    def _check_formattedvalue(
        self, node: ast.FormattedValue, position: Position
    ) -> None:
        for reason, instead in check_f_string_field(node):
            self.refuse(node, reason, instead)
        if not isinstance(node.value, ast.Starred):
            self.check(node.value, position)

    def _check_lambda(self, node: ast.Lambda, position: Position) -> None:
        self.functions += 1
        if position.class_body:
            self.refuse(node, "a lambda stands in a class body", "a method")
        self.check_parameters(node.args, position)
        self.check_variables(node, position)
        functions = (*position.functions, node)
        inner = Position(function=node, scopes=position.scopes + 1, functions=functions)
        self.check_scopes(node, inner)
        self.check(node.body, inner)

    def _check_listcomp(self, node: ast.expr, position: Position) -> None:
        if position.class_body:
            self.refuse(node, "a comprehension stands in a class body", "a method")
        inner = replace(position, in_comprehension=True, scopes=position.scopes + 1)
        self.check_scopes(node, inner)
        self.check_children(node, inner)

    _check_setcomp = _check_listcomp

    _check_dictcomp = _check_listcomp

    _check_generatorexp = _check_listcomp

    def _check_comprehension(self, node: ast.comprehension, position: Position) -> None:
        if node.is_async:
            self.refuse(node.iter, "async is not available")
        self.check_no_star(node.target)
        for part in walk(node.target):
            if isinstance(part, ast.Attribute | ast.Subscript):
                self.refuse(
                    part, "a comprehension assigns to something else than a name"
                )
        self.check_children(node, position)

    def _check_namedexpr(self, node: ast.NamedExpr, position: Position) -> None:
        if position.class_body:
            self.refuse(node, "an assignment expression stands in a class body")
        self.check_children(node, position)

    def _check_yield(self, node: ast.expr, position: Position) -> None:
        self.refuse(
            node, "yield stands inside an expression", "yield v, or x = yield v"
        )
        self.check_children(node, position)

    _check_yieldfrom = _check_yield


_IDENTITIES = frozenset({ast.Is, ast.IsNot})
_MODULE_ERROR_REASON = (
    "an exception of a native module can only be caught or named in isinstance"
)
