"""The SQL dialect: the part of a WHERE clause that Spark SQL reads in the same way.

    filter      = and_term { OR and_term }
    and_term    = not_term { AND not_term }
    not_term    = NOT not_term | primary
    primary     = "(" filter ")" | operand [ test ]
    test        = ( = | == | != | <> | < | <= | > | >= ) operand
                | [ NOT ] BETWEEN operand AND operand
                | [ NOT ] IN "(" literal { "," literal } ")"
                | [ NOT ] LIKE string
                | IS [ NOT ] NULL
    operand     = name { "." name } | literal
    literal     = [ + | - ] number | string | TIMESTAMP string | TRUE | FALSE | NULL

Recursive descent, one method per rule: a table-driven parser was four times slower and its errors worse.
The parser puts holes where literals are, so that its tree can be kept as a template.
"""

from __future__ import annotations

from siftcast.model.errors import FilterLimitError, FilterSyntaxError, FilterTypeError
from siftcast.model.expression import (
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operand,
    Predicate,
    Reference,
    conjunction,
    disjunction,
)
from siftcast.model.lexer import END, NAME, NUMBER, STRING, SYMBOL, Tokens
from siftcast.model.like import LikePattern
from siftcast.model.limits import DEFAULT_LIMITS, FilterLimits
from siftcast.model.literals import Literals
from siftcast.model.template import Hole, PatternHole, Template
from siftcast.model.template_cache import TemplateCache
from siftcast.model.unsupported import advice_on
from siftcast.model.values import Kind, Value, kind_of

_OPERATORS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CONSTANTS: dict[str, Literal] = {"TRUE": Literal(True), "FALSE": Literal(False), "NULL": Literal(None)}
_TEST_EXPECTED = "a comparison, BETWEEN, IN, LIKE or IS NULL"
_cache = TemplateCache()


def parse_sql(text: str, limits: FilterLimits) -> tuple[Template, list[Value]]:
    """A filter's template and literals; raises FilterSyntaxError, FilterTypeError or FilterLimitError."""
    if len(text) > limits.length_max:
        raise FilterLimitError("length", len(text), limits.length_max)
    found = _cache.find(text, _parse)
    if found is not None:
        template = found[0]
        if template.terms > limits.terms_max:
            raise FilterLimitError("terms", template.terms, limits.terms_max)
        if template.depth > limits.depth_max:
            raise FilterLimitError("nesting", template.depth, limits.depth_max)
        return found
    template, literals = _parse(text, limits)
    _cache.add(text, literals, template)
    return template, literals.values


def _parse(text: str, limits: FilterLimits = DEFAULT_LIMITS) -> tuple[Template, Literals]:
    parser = _Parser(Tokens(text), limits)
    return parser.parse(), parser.literals


class _Parser:
    """One pass over the tokens of one filter."""

    __slots__ = (
        "_depth",
        "_depth_seen",
        "_kinds",
        "_limits",
        "_position",
        "_terms",
        "_texts",
        "_tokens",
        "literals",
    )

    def __init__(self, tokens: Tokens, limits: FilterLimits) -> None:
        self._tokens = tokens
        self._kinds = tokens.kinds
        self._texts = tokens.texts
        self._limits = limits
        self._position = 0
        self._depth = 0
        self._depth_seen = 0
        self._terms = 0
        self.literals = Literals()

    def parse(self) -> Template:
        if self._kinds[0] == END:
            raise self._error("the filter is empty", "a comparison such as price < 95")
        tree = self._filter()
        if self._kinds[self._position] != END:
            raise self._misplaced("is one too many", "AND, OR or the end of the filter")
        return Template(tree, self._depth_seen, self._terms)

    # -- truth ---------------------------------------------------------------------------------------

    def _filter(self) -> Predicate:
        term = self._and_term()
        if self._kinds[self._position] != "OR":
            return term
        terms = [term]
        while self._kinds[self._position] == "OR":
            self._position += 1
            terms.append(self._and_term())
        return disjunction(terms)

    def _and_term(self) -> Predicate:
        term = self._not_term()
        if self._kinds[self._position] != "AND":
            return term
        terms = [term]
        while self._kinds[self._position] == "AND":
            self._position += 1
            terms.append(self._not_term())
        return conjunction(terms)

    def _not_term(self) -> Predicate:
        if self._kinds[self._position] != "NOT":
            return self._primary()
        self._position += 1
        self._enter()
        term = self._not_term()
        self._depth -= 1
        return Not(term)

    def _primary(self) -> Predicate:
        start = self._position
        if self._texts[start] == "(" and self._kinds[start] == SYMBOL:
            self._position += 1
            self._enter()
            inner = self._filter()
            self._expect(")", "a closing parenthesis, AND or OR")
            self._depth -= 1
            if isinstance(inner, Reference) and self._at_test():
                return self._test(inner, start)
            return inner
        operand = self._operand("an attribute, a value, NOT or (")
        if self._at_test():
            return self._test(operand, start)
        self._count_terms(1)
        if isinstance(operand, Reference | Literal):
            return operand
        raise self._advised() or self._error("a value alone is neither true nor false", _TEST_EXPECTED)

    def _at_test(self) -> bool:
        position = self._position
        kind = self._kinds[position]
        if kind == SYMBOL:
            return self._texts[position] in _OPERATORS
        return kind in ("NOT", "BETWEEN", "IN", "LIKE", "IS")

    def _test(self, operand: Operand, start: int) -> Predicate:
        self._count_terms(1)
        position = self._position
        operator = _OPERATORS.get(self._texts[position])
        if operator is not None and self._kinds[position] == SYMBOL:
            self._position += 1
            right = self._operand("an attribute or a value")
            if not isinstance(operand, Reference):
                self._agree(start, operand, right)
            return Comparison(operator, operand, right)
        kind = self._kinds[position]
        self._position += 1
        if kind == "IS":
            negated = self._skip("NOT")
            self._expect("NULL", "NULL (only IS NULL and IS NOT NULL exist)")
            return IsNull(operand, negated)
        negated = kind == "NOT"
        if negated:
            kind = self._kinds[self._position]
            self._position += 1
        if kind == "BETWEEN":
            return self._between(operand, start, negated)
        if kind == "IN":
            return self._in(operand, start, negated)
        if kind == "LIKE":
            return self._like(operand, start, negated)
        self._position -= 1
        raise self._misplaced("after NOT", "BETWEEN, IN or LIKE")

    def _between(self, operand: Operand, start: int, negated: bool) -> Predicate:
        low = self._operand("the lower end")
        self._expect("AND", "AND and the upper end of BETWEEN")
        high = self._operand("the upper end")
        self._agree(start, operand, low, high)
        return Between(operand, low, high, negated)

    def _in(self, operand: Operand, start: int, negated: bool) -> Predicate:
        self._expect("(", "( and a list of values")
        options: list[Operand] = []
        while True:
            at = self._position
            option = self._operand("a value")
            if isinstance(option, Reference):
                raise self._no_value(at)
            options.append(option)
            self._count_terms(1)
            if not self._skip(","):
                break
        self._expect(")", "a comma or )")
        self._agree(start, operand, *options)
        return In(operand, tuple(options), negated)  # type: ignore[arg-type]  # holes become literals in bind

    def _no_value(self, at: int) -> FilterSyntaxError:
        """An error about a name in a list of values: an attribute, or the beginning of something that SQL has there."""
        is_alone = self._texts[self._position] in (",", ")")
        advised = self._advised() if self._kinds[self._position] == SYMBOL else None  # a function, arithmetic
        self._position = at
        if advised is None and not is_alone:  # a query
            advised = self._advised()
        return advised or self._error("IN takes a list of values, not attributes", "a value")

    def _like(self, operand: Operand, start: int, negated: bool) -> Predicate:
        at = self._position
        if self._kinds[at] != STRING:
            raise self._error("LIKE needs a pattern", "a string such as 'IBM%'")
        pattern = self._literal_hole(Kind.STRING, at)
        self._agree(start, operand, pattern)
        text = str(self.literals.values[-1])
        if "\\" in text:  # the only thing that can be wrong with a pattern
            try:
                LikePattern(text)
            except ValueError as error:
                self._position = at
                raise self._error(str(error), "") from None
        return Like(operand, PatternHole(pattern.index), negated)  # type: ignore[arg-type]

    # -- values --------------------------------------------------------------------------------------

    def _operand(self, expected: str) -> Operand:
        position = self._position
        kind, text = self._kinds[position], self._texts[position]
        if kind == NAME:
            if text.upper() == "TIMESTAMP" and self._kinds[position + 1] == STRING:
                self._position += 1
                return self._literal_hole(Kind.TIMESTAMP, position + 1)
            return self._reference()
        if kind == NUMBER:
            return self._literal_hole(Kind.NUMBER, position)
        if kind == STRING:
            return self._literal_hole(Kind.STRING, position)
        if text in ("-", "+") and self._kinds[position + 1] == NUMBER:
            self._position += 1
            return self._literal_hole(Kind.NUMBER, position + 1, negative=text == "-")
        constant = _CONSTANTS.get(kind)
        if constant is None:
            raise self._misplaced("cannot stand here", expected)
        self._position += 1
        return constant

    def _reference(self) -> Reference:
        path = [self._texts[self._position]]
        self._position += 1
        while self._texts[self._position] == "." and self._kinds[self._position] == SYMBOL:
            self._position += 1
            if self._kinds[self._position] != NAME:
                raise self._error(f"{self._shown()} cannot follow a dot", "a name (quote reserved words: `in`)")
            path.append(self._texts[self._position])
            self._position += 1
        return Reference(tuple(path))

    def _literal_hole(self, kind: Kind, at: int, *, negative: bool = False) -> Hole:
        try:
            hole = self.literals.add(self._texts[at], kind, negative)
        except (ValueError, OverflowError) as error:
            self._position = at
            raise self._error(str(error), "") from None
        self._position = at + 1
        return hole

    # -- checks --------------------------------------------------------------------------------------

    def _agree(self, start: int, *operands: Operand) -> None:
        kinds = {kind for kind in map(_literal_kind, operands) if kind is not None}
        if len(kinds) > 1:
            names = " and a ".join(sorted(kind.value for kind in kinds))
            place = FilterSyntaxError(
                f"a {names} can never be compared", self._tokens.source, self._tokens.offset(start)
            )
            raise FilterTypeError(str(place))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > self._limits.depth_max:
            raise FilterLimitError("nesting", self._depth, self._limits.depth_max)
        self._depth_seen = max(self._depth_seen, self._depth)

    def _count_terms(self, count: int) -> None:
        self._terms += count
        if self._terms > self._limits.terms_max:
            raise FilterLimitError("terms", self._terms, self._limits.terms_max)

    def _skip(self, token: str) -> bool:
        """Steps over a reserved word or symbol if it comes next."""
        position = self._position
        kind = self._kinds[position]
        if kind == token or (kind == SYMBOL and self._texts[position] == token):
            self._position += 1
            return True
        return False

    def _expect(self, token: str, expected: str) -> None:
        if not self._skip(token):
            raise self._misplaced("cannot stand here", expected)

    def _shown(self) -> str:
        position = self._position
        if self._kinds[position] == END:
            return "the end of the filter"
        text = self._texts[position]
        return f"'{text if len(text) <= 40 else text[:39] + '…'}'"

    def _misplaced(self, problem: str, expected: str) -> FilterSyntaxError:
        """An error about the next token; where SQL knows it, with what to write instead."""
        return self._advised() or self._error(f"{self._shown()} {problem}", expected)

    def _advised(self) -> FilterSyntaxError | None:
        position = self._position
        kind, text = self._kinds[position], self._texts[position]
        before, after_name = "", False
        if position:
            before, after_name = self._texts[position - 1], self._kinds[position - 1] == NAME
        # DATE '…' and INTERVAL 1 are a name and a value.
        if kind not in (NAME, SYMBOL) and not (kind in (STRING, NUMBER) and after_name):
            return None
        after = self._texts[position + 1]
        if text == after == "-" and self._tokens.source.startswith("--", self._tokens.offset(position)):
            text = "--"
        advice = advice_on(before, text, after, before_is_name=after_name, is_sign=kind == SYMBOL)
        return None if advice is None else self._error(*advice)

    def _error(self, problem: str, expected: str) -> FilterSyntaxError:
        offset = self._tokens.offset(self._position)
        return FilterSyntaxError(problem, self._tokens.source, offset, expected=expected)


def _literal_kind(operand: Operand) -> Kind | None:
    if isinstance(operand, Hole):
        return operand.kind
    return kind_of(operand.constant) if isinstance(operand, Literal) else None
