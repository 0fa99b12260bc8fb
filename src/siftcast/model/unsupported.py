"""What SQL has and this dialect has not (yet), in a sentence that says what to write instead.

Used only when a filter is already refused, so it costs nothing where filters are good. The first rule that
knows the word or sign wins; where none does, the parser says what it expected.
"""

from __future__ import annotations

_ARITHMETIC = "arithmetic is not supported yet"
_FUNCTIONS = "functions are not supported yet"
_COMPUTE = "an attribute or a value as it is; what must be computed can be published as an attribute of its own"
_COMMENTS = ("comments are not supported", "the filter alone")
_QUERIES = ("queries within a filter are not supported", "the values themselves, as in x IN (1, 2)")
_NULL_SAFE = ("<=> is not supported yet", "=, which no NULL satisfies; for both: a = b OR (a IS NULL AND b IS NULL)")
_SIGNS = frozenset("+-*/%")
_WORDS = {
    "ILIKE": ("ILIKE is not supported yet", "LIKE, which looks at case; for both cases: x LIKE 'ab%' OR x LIKE 'AB%'"),
    "RLIKE": ("regular expressions are not supported yet", "LIKE, with % for any text and _ for one character"),
    "ESCAPE": ("ESCAPE is not supported", "a backslash before %, _ or \\ in the pattern"),
    "DIV": (_ARITHMETIC, _COMPUTE),
    "MOD": (_ARITHMETIC, _COMPUTE),
    "XOR": ("XOR is not supported", "AND, OR and NOT, as in (a OR b) AND NOT (a AND b)"),
    "COLLATE": ("collations are not supported", "comparisons by code points"),
}
_WORDS |= dict.fromkeys(("REGEXP", "REGEXP_LIKE", "SIMILAR", "GLOB", "MATCH"), _WORDS["RLIKE"])
_STARTS = {
    "CASE": ("CASE is not supported yet", "AND and OR, as in (a AND x < 1) OR (NOT a AND x < 2)"),
    "SELECT": ("a filter is only what follows WHERE", "a comparison such as price < 95"),
    "WHERE": ("a filter is only what follows WHERE", "a comparison such as price < 95"),
    "EXISTS": _QUERIES,
    "DATE": ("DATE '…' is not supported", "TIMESTAMP '2026-03-01', which is midnight in UTC"),
    "INTERVAL": (_ARITHMETIC, "TIMESTAMP '2026-03-01 12:00', computed before"),
    "DISTINCT": ("IS DISTINCT FROM is not supported yet", "NULL (only IS NULL and IS NOT NULL exist)"),
}
_CHARACTERS = {
    "&": ("'&' has no meaning here", "AND"),
    "|": ("'|' has no meaning here", "OR; joining texts with || is not supported yet"),
    "!": ("'!' alone has no meaning here", "NOT, or != for inequality"),
    "[": ("'[' has no meaning here", "( and ) around the values of IN"),
    "{": ("'{' has no meaning here", "( and )"),
    ";": ("';' has no meaning here", "the end of the filter; one filter at a time"),
    "^": (_ARITHMETIC, _COMPUTE),
    "~": ("'~' has no meaning here", "NOT, or LIKE for patterns"),
}

Advice = tuple[str, str]
"""What is wrong, and what is expected instead."""


def advice_on(before: str, word: str, after: str, *, before_is_name: bool, is_sign: bool) -> Advice | None:
    """About a token that cannot stand where it does, between two others (empty at the ends); a comment is one token."""
    if not is_sign:
        if word.upper() == "SELECT" and before == "(":
            return _QUERIES
        return _WORDS.get(word.upper()) or _STARTS.get(word.upper()) or _STARTS.get(before.upper())
    if word == "(" and (after.upper() == "SELECT" or before.upper() == "EXISTS"):
        return _QUERIES
    if word == "(" and before_is_name:
        return f"{_FUNCTIONS}, so {before[:40]}(…) cannot stand here", _COMPUTE
    if word == "--":
        return _COMMENTS
    if word == ">" and before == "<=":
        return _NULL_SAFE
    return (_ARITHMETIC, _COMPUTE) if word in _SIGNS else None


def advice_on_character(source: str, position: int) -> Advice | None:
    """About a character with which no token begins."""
    if source.startswith("/*", position):
        return _COMMENTS
    character = source[position]
    return (_ARITHMETIC, _COMPUTE) if character in _SIGNS else _CHARACTERS.get(character)
