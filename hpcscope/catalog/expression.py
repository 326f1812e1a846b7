"""Expressions in declared costs, such as `ceil(log2(p))` or `8*n^2`: arithmetic on named numbers, nothing else."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,  # in floating point: powers of integers grow without bound
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
}


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression; `^` and `**` both raise to a power.

    Raises ValueError that quotes the expression: wrong syntax, an unknown name, or a result that is not finite.
    """
    try:
        value = float(_value(_parsed(text), names))
    except (SyntaxError, TypeError, ArithmeticError, ValueError) as error:
        raise ValueError(f"{text!r}: {error}") from error
    if not math.isfinite(value):
        raise ValueError(f"{text!r}: the result is not finite")
    return value


def names_in(text: str) -> set[str]:
    """Return the names whose values an expression needs; raises ValueError for a wrong expression."""
    try:
        nodes = list(ast.walk(_parsed(text)))
    except SyntaxError as error:
        raise ValueError(f"{text!r}: {error}") from error
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip().replace("^", "**"), mode="eval").body


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"unknown name {node.id}; known: {', '.join(sorted(names))}")
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise ValueError(f"unknown function {node.func.id}; known: {', '.join(_FUNCTIONS)}")
        return _FUNCTIONS[node.func.id](*(_value(expr, names) for expr in node.args))
    raise ValueError("must consist of numbers, names, + - * / ^ and calls of " + ", ".join(_FUNCTIONS))
