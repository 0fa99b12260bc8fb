"""The largest inputs that the limits allow, by shape: what an unfriendly client would send.

A shape makes a filter of any size up to its limit, and an event to ask it about. Names of attributes begin with a mark
that is new each time, so that no cache has read the text before. Sizes count what grows: terms of the filter,
characters of its text, or characters of the event.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from siftcast.model.limits import DEFAULT_LIMITS

EVENT_CHARACTERS = 262_000  # what fits the 262,144 bytes of an event on the wire
LENGTH, TERMS, DEPTH = DEFAULT_LIMITS.length_max, DEFAULT_LIMITS.terms_max, DEFAULT_LIMITS.depth_max

MARK = "mark"  # as long as each of them

Input = tuple[str, dict[str, object]]
Make = Callable[[int, str], Input]  # (size, mark) -> (text of a filter, event)


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to be large; `readable` is False where the text is refused, which must not take long either."""

    name: str
    size_max: int
    make: Make
    readable: bool = True


def shapes() -> list[Shape]:
    """All of them."""
    return [*_blanks(), *_terms(), *_nests(), *_words(), *_patterns()]


def _blanks() -> list[Shape]:
    room = LENGTH - 100

    def between(blank: str) -> Make:
        return lambda n, m: (f"{m}a = 1{blank * n}AND{blank * n}{m}b = 2", {f"{m}a": 1, f"{m}b": 2})

    return [
        Shape("blanks around AND", room // 2, between(" ")),
        Shape("blanks of Unicode around AND", room // 2, between("\u2003\u00a0\n\t"[:1])),
        Shape("blanks, then a word too many", room, lambda n, m: (f"{m}a = 1{' ' * n}x", {}), readable=False),
        Shape(
            "blanks before the end", room, lambda n, m: (f"{m}a = 1 AND {m}b = 2{' ' * n}", {f"{m}a": 1, f"{m}b": 2})
        ),
        Shape("lines", room, lambda n, m: (chr(10) * n + f"{m}a = 1 AND", {}), readable=False),
        Shape(
            "blanks in BETWEEN",
            room // 2,
            lambda n, m: (f"{m}a BETWEEN 1{' ' * n}AND{' ' * n}2 AND {m}b = 1", {f"{m}a": 1, f"{m}b": 1}),
        ),
        Shape(
            "blanks in TIMESTAMP",
            room // 4,
            lambda n, m: (f"{m}a = 1 AND TIMESTAMP{' ' * n}'2024-01-01' < {m}t" + " " * n, {f"{m}a": 1}),
        ),
    ]


def _joined(term: Callable[[int, str], str], joint: str, event: Callable[[int, str], dict[str, object]]) -> Make:
    return lambda n, m: (f" {joint} ".join(term(i, m) for i in range(n)), event(n, m))


def _one(value: object) -> Callable[[int, str], dict[str, object]]:
    return lambda n, m: {f"{m}a": value, f"{m}b": value}


def _all_names(n: int, m: str) -> dict[str, object]:
    return {f"{m}{i}": i + 0.5 for i in range(n)}


def _listed(negated: str, value: Callable[[int], str], hit: Callable[[int], object]) -> Make:
    return lambda n, m: (f"{m}a {negated}IN ({', '.join(map(value, range(n)))})", {f"{m}a": hit(n)})


def _terms() -> list[Shape]:
    many, pairs, triples = TERMS - 8, TERMS // 2 - 8, TERMS // 3 - 8
    grown = [(name, many, make) for name, make in _single_terms().items()]
    grown += [(name, triples if "IN" in name or "three" in name else pairs, make) for name, make in _pairs().items()]
    grown += [(name, many - 1, make) for name, make in _lists().items()]
    return [Shape(name, _largest(terms, make), make) for name, terms, make in grown]


def _single_terms() -> dict[str, Make]:
    return {
        "a != … AND": _joined(lambda i, m: f"{m}a != {2 * i}", "AND", _one(1)),
        "a != … OR": _joined(lambda i, m: f"{m}a != {2 * i}", "OR", _one(1)),
        "a = … OR": _joined(lambda i, m: f"{m}a = {2 * i}", "OR", _one(1)),
        "a = 'text' OR": _joined(lambda i, m: f"{m}a = 't{i}'", "OR", _one("t")),
        "a < … AND": _joined(lambda i, m: f"{m}a < {i + 9}", "AND", _one(1)),
        "a > … OR": _joined(lambda i, m: f"{m}a > {i + 9}", "OR", _one(1)),
        "names = … AND": _joined(lambda i, m: f"{m}{i} > {i}", "AND", _all_names),
        "names = … OR": _joined(lambda i, m: f"{m}{i} < {i}", "OR", _all_names),
        "names != … AND": _joined(lambda i, m: f"{m}{i} != {i}", "AND", _all_names),
        "names IS NULL AND": _joined(lambda i, m: f"{m}{i} IS NULL", "AND", _one(1)),
        "names IS NOT NULL OR": _joined(lambda i, m: f"{m}{i} IS NOT NULL", "OR", _one(1)),
        "names alone AND": _joined(lambda i, m: f"{m}{i}", "AND", lambda n, m: {f"{m}{i}": True for i in range(n)}),
        "NOT names OR": _joined(lambda i, m: f"NOT {m}{i}", "OR", lambda n, m: {f"{m}{i}": True for i in range(n)}),
        "dotted names AND": _joined(
            lambda i, m: f"{m}.a{i} >= {i}", "AND", lambda n, m: {m: {f"a{i}": i for i in range(n)}}
        ),
        "quoted names AND": _joined(
            lambda i, m: f"`{m} {i}` > 1", "AND", lambda n, m: {f"{m} {i}": 2 for i in range(n)}
        ),
        "two attributes AND": _joined(
            lambda i, m: f"{m}{i} < {m}{i + 1}", "AND", lambda n, m: {f"{m}{i}": i for i in range(n + 1)}
        ),
        "two attributes OR": _joined(
            lambda i, m: f"{m}{i} > {m}{i + 1}", "OR", lambda n, m: {f"{m}{i}": i for i in range(n + 1)}
        ),
        "constants AND": _joined(lambda i, m: f"{i} < {i + 1}", "AND", _one(1)),
        "a LIKE 'x%' OR": _joined(lambda i, m: f"{m}a LIKE 'x{i}%'", "OR", _one("y")),
        "a NOT LIKE 'x%' AND": _joined(lambda i, m: f"{m}a NOT LIKE 'x{i}%'", "AND", _one("y")),
        "a LIKE '%x%' OR": _joined(lambda i, m: f"{m}a LIKE '%x{i}%'", "OR", _one("y")),
        "a NOT LIKE '%x_y' AND": _joined(lambda i, m: f"{m}a NOT LIKE '%x_{i}'", "AND", _one("y")),
    }


def _pairs() -> dict[str, Make]:
    return {
        "pairs of = OR": _joined(
            lambda i, m: f"{m}a = {i} AND {m}b = {i}", "OR", lambda n, m: {f"{m}a": n, f"{m}b": n - 1}
        ),
        "pairs of = and < OR": _joined(
            lambda i, m: f"{m}a = {i} AND {m}b < {i}", "OR", lambda n, m: {f"{m}a": n, f"{m}b": n - 1}
        ),
        "pairs of names OR": _joined(lambda i, m: f"{m}{i} = {i} AND {m}b{i} = {i}", "OR", _all_names),
        "pairs of OR AND": _joined(lambda i, m: f"({m}a = {i} OR {m}b = {i})", "AND", _one(1)),
        "pairs of names of OR AND": _joined(
            lambda i, m: f"({m}a{i} = 1 OR {m}b{i} = 1)", "AND", lambda n, m: {f"{m}a{i}": 1 for i in range(n)}
        ),
        "pairs of != and = OR": _joined(lambda i, m: f"{m}a != {i} AND {m}b = {i}", "OR", _one(-1)),
        "NOT pairs AND": _joined(lambda i, m: f"NOT ({m}a = {i} AND {m}b = {i})", "AND", _one(-1)),
        "BETWEEN OR": _joined(lambda i, m: f"{m}a BETWEEN {4 * i} AND {4 * i + 1}", "OR", _one(3)),
        "NOT BETWEEN AND": _joined(lambda i, m: f"{m}a NOT BETWEEN {4 * i} AND {4 * i + 1}", "AND", _one(3)),
        "BETWEEN of text OR": _joined(lambda i, m: f"{m}a BETWEEN '{i:05}' AND '{i:05}5'", "OR", _one("000019")),
        "BETWEEN of times OR": _joined(lambda i, m: f"{m}a < TIMESTAMP '{1000 + i}-01-01'", "OR", _one(3)),
        "IN of two AND": _joined(lambda i, m: f"{m}{i} IN ({i}, {i}.5)", "AND", _all_names),
        "NOT IN AND": _joined(lambda i, m: f"{m}a NOT IN ({4 * i}, {4 * i + 2})", "AND", _one(3)),
        "one of two, known AND": lambda n, m: (
            f"{m}k = 'x' AND " + " AND ".join(f"({m}k = 'x' AND {m}a != {i} OR {m}k = 'y')" for i in range(n * 2 // 3)),
            {f"{m}k": "x", f"{m}a": -1},
        ),
        "two of three names AND": _joined(
            lambda i, m: f"({m}{i} = 1 AND {m}a = 1 OR {m}{i} = 2)",
            "AND",
            lambda n, m: {f"{m}{i}": 2 for i in range(n)},
        ),
    }


def _lists() -> dict[str, Make]:
    return {
        "IN numbers": _listed("", str, lambda n: n - 1),
        "NOT IN numbers": _listed("NOT ", str, lambda n: -1),
        "IN negative fractions": _listed("", lambda i: f"-{i}.25", lambda n: -0.25),
        "IN texts": _listed("", lambda i: f"'t{i}'", lambda n: "t1"),
        "IN large numbers": _listed("", lambda i: str(2**62 + i), lambda n: 2**62),
        "IN times": _listed("", lambda i: f"TIMESTAMP '{1000 + i // 9}-01-0{i % 9 + 1}'", lambda n: 1),
    }


def _largest(terms: int, make: Make) -> int:
    """The most terms whose text is short enough."""
    return bisect_right(range(terms + 1), LENGTH, key=lambda n: len(make(n, MARK)[0])) - 1


def _nests() -> list[Shape]:
    wide = 1_000

    def deep(n: int, m: str) -> Input:
        inner = " OR ".join(f"{m}a = {i}" for i in range(wide))
        return "(" * n + inner + "".join(f" OR {m}b = {i}) AND {m}c < {i}" for i in range(n)), {f"{m}a": 1, f"{m}c": -1}

    def turning(n: int, m: str) -> Input:
        text = " AND ".join(f"{m}{i} = 1" for i in range(wide))
        for i in range(n):
            text = f"({text}) {'OR' if i % 2 else 'AND'} {m}a != {i}"
        return text, {f"{m}a": -1}

    return [
        Shape("NOT nested", DEPTH, lambda n, m: ("NOT " * n + f"{m}a = 1", {f"{m}a": 1})),
        Shape("parentheses", DEPTH, lambda n, m: ("(" * n + f"{m}a = 1" + ")" * n, {f"{m}a": 1})),
        Shape("a wide OR in AND in OR …", DEPTH, deep),
        Shape("a wide AND in OR in AND …", DEPTH, turning),
        Shape("parentheses that never end", LENGTH - 100, lambda n, m: ("(" * n, {}), readable=False),
    ]


def _words() -> list[Shape]:
    room = LENGTH - 200
    return [
        Shape("a long name", room, lambda n, m: (f"{m}{'a' * n} = 1", {f"{m}{'a' * n}": 1})),
        Shape("a long quoted name", room // 2, lambda n, m: (f"`{m}{'``' * n}` = 1", {f"{m}{'`' * n}": 1})),
        Shape("a long path", room // 2, lambda n, m: (f"{m}{'.a' * n} = 1", {m: {"a": {"a": 1}}})),
        Shape("a long text", room, lambda n, m: (f"{m}a >= '{'x' * n}'", {f"{m}a": "x" * EVENT_CHARACTERS})),
        Shape(
            "a text of escapes",
            room // 6,
            lambda n, m: (f"{m}a = '{chr(92)}u0001" + "\\u00e9" * (n - 1) + "'", {f"{m}a": "x"}),
        ),
        Shape("a text of quotes", room // 2, lambda n, m: (f"{m}a = '" + "''" * n + "'", {f"{m}a": "'" * n})),
        Shape("a text that never ends", room, lambda n, m: (f"{m}a = '" + "x" * n, {}), readable=False),
        Shape(
            "quotes that never end",
            room // 2,
            lambda n, m: (f"{m}a = '" + "'' " * (n // 2) + "'' \\", {}),
            readable=False,
        ),
        Shape("a quoted name that never ends", room, lambda n, m: ("`" + "x" * n, {}), readable=False),
        Shape("a long number", room, lambda n, m: (f"{m}a < 0.{'1' * n}", {f"{m}a": 0.1})),
        Shape("a long exponent", room, lambda n, m: (f"{m}a < 1e{'0' * n}1", {f"{m}a": 0.1})),
        Shape("a long integer", room, lambda n, m: (f"{m}a < {'1' * n}", {}), readable=False),
        Shape("a number that is none", room, lambda n, m: (f"{m}a < {'1' * n}x", {}), readable=False),
        Shape(
            "a list that is wrong in the end",
            TERMS - 8,
            lambda n, m: (f"{m}a IN ({', '.join(map(str, range(n)))}, 'x')", {}),
            readable=False,
        ),
        Shape(
            "terms that are wrong in the end",
            TERMS // 2,
            lambda n, m: (" AND ".join(f"{m}{i}.b = {i}" for i in range(n)) + " AND", {}),
            readable=False,
        ),
        Shape("a large integer in the event", 4_000, lambda n, m: (f"{m}a > 5 OR {m}a < 3", {f"{m}a": 10**n})),
        Shape(
            "attributes of the event", 19_000, lambda n, m: (f"{m}1 = 1 AND {m}2 = 2", {f"{m}{i}": i for i in range(n)})
        ),
        Shape(
            "text of the event",
            EVENT_CHARACTERS,
            lambda n, m: (f"{m}a = 'x' OR {m}a > 'y' OR {m}a IN ('z', 'xxxxx')", {f"{m}a": "x" * n}),
        ),
        Shape(
            "unprintable text of the event",
            EVENT_CHARACTERS // 3,
            lambda n, m: (" OR ".join(f"{m}a = 'x{i}'" for i in range(99)), {f"{m}a": "\u2028" * n}),
        ),
    ]


def _letters(seed: int, count: int = 12) -> str:
    """A word of two letters, the same for a seed."""
    random = Random(seed)
    return "".join(random.choices("ab", k=count))


def _patterns() -> list[Shape]:
    room = LENGTH - 100
    text = "a" * EVENT_CHARACTERS

    def on(long: Callable[[int], str], event: str = text) -> Make:
        return lambda n, m: (f"{m}a LIKE '{long(n)}'", {f"{m}a": event})

    def of(pattern: str, long: Callable[[int], str]) -> Make:
        return lambda n, m: (f"{m}a LIKE '{pattern}'", {f"{m}a": long(n)})

    def several(pattern: Callable[[str, int], str], joint: str = "OR") -> Make:
        """Patterns that no search of one piece rejects early, on a text of two letters without order."""
        return lambda n, m: (
            f" {joint} ".join(f"{m}a LIKE '{pattern(_letters(i), i)}'" for i in range(n)),
            {f"{m}a": _letters(7, EVENT_CHARACTERS)},
        )

    many = "".join(chr(0x4E00 + i) for i in range(20_000))
    return [
        Shape("LIKE '%abbac1%' OR on a hard text", 1_500, several(lambda word, i: f"%{word}c{i}%")),
        Shape("LIKE '%abba%' AND on a hard text", 1_500, several(lambda word, i: f"%{word}%", "AND")),
        Shape("LIKE '%abba_c1%' OR on a hard text", 1_500, several(lambda word, i: f"%{word}_c{i}%")),
        Shape(
            "LIKE '%abba_abb_ab%' OR on a hard text", 1_300, several(lambda word, i: f"%{word[:6]}_{word[2:]}_{word}%")
        ),
        Shape("LIKE '%abba%c%abba%' OR on a hard text", 1_300, several(lambda word, i: f"%{word}%c%{word}%")),
        Shape("LIKE '%_a_a…b%'", room // 2, on(lambda n: "%" + "_a" * n + "b%")),
        Shape("LIKE '%_a…%' and a late end", room, on(lambda n: "%_" + "a" * n + "%b")),
        Shape("LIKE '%_a%_a%…b'", room // 3, on(lambda n: "%_a" * n + "%b%")),
        Shape("LIKE '%a%a%…b'", room // 2, on(lambda n: "%a" * n + "%b%")),
        Shape("LIKE '_____…'", room, on(lambda n: "_" * n + "%a")),
        Shape("LIKE '%_____…b%'", room, on(lambda n: "%" + "_" * n + "b%")),
        Shape("LIKE '%aaaa…b%'", room, on(lambda n: "%" + "a" * n + "b%")),
        Shape("LIKE '%baaa…%'", room, on(lambda n: "%b" + "a" * n + "%")),
        Shape("LIKE '%abab…c%'", room // 2, on(lambda n: "%" + "ab" * n + "c%", "ab" * (EVENT_CHARACTERS // 2))),
        Shape("LIKE '%_ab_ab…c%'", room // 3, on(lambda n: "%" + "_ab" * n + "c%", "ab" * (EVENT_CHARACTERS // 2))),
        Shape("LIKE '%_…%' of many characters", 20_000, on(lambda n: "%_" + many[:n] + "%", many * 4)),
        Shape("LIKE of escapes", room // 3, on(lambda n: r"%_" + r"\\%" * n + "%", "%" * EVENT_CHARACTERS)),
        Shape("LIKE '%%%…'", room, on(lambda n: "%" * n + "b")),
        Shape("LIKE 'a…%'", room, on(lambda n: "a" * n + "%")),
        Shape("LIKE '\U0010ffff…%'", room, on(lambda n: "\U0010ffff" * n + "%", "\U0010ffff" * 65_000)),
        Shape("text for LIKE '%_a_a…b%'", EVENT_CHARACTERS, of("%" + "_a" * 100 + "b%", lambda n: "a" * n)),
        Shape("text for LIKE '%_a%_b'", EVENT_CHARACTERS, of("%_a%_b%c", lambda n: "a" * n)),
        Shape("text for LIKE '%aaab'", EVENT_CHARACTERS, of("%aaaaaaaaaab%", lambda n: "a" * n)),
        Shape(
            "text for 100 × LIKE '%_a%'",
            EVENT_CHARACTERS,
            lambda n, m: (" OR ".join(f"{m}a LIKE '%b_{i}%'" for i in range(100)), {f"{m}a": "b" * n}),
        ),
    ]
