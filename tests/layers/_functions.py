"""Functions that a header declares, and another one defines that includes it: an arrow up that no #include shows.

Functions of classes are none of these: a class is in one file (_layers.py).
"""

import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
NAMESPACE = re.compile(r"\bnamespace\b[^;{}()=]*$")
FUNCTION = re.compile(r"(?<![\w:])([A-Za-z_]\w*)\s*\(")
NO_FUNCTION = re.compile(r"\b(?:using|static_assert|typedef|friend|extern|concept|class|struct|enum)\b|=")
INCLUDE = re.compile(r"#\s*include <allot/([^>]+)>")
# Attributes and specifiers whose parentheses hold no parameters.
SPECIFIER = re.compile(r"\b(?:alignas|decltype|noexcept|requires|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def blank(found):
    return "\n" * found.group().count("\n")


def functions(text):
    """(name, line, whether it is defined) of the functions at namespace scope."""
    text = DIRECTIVE.sub(blank, TEXT.sub('""', COMMENT.sub(blank, text)))
    start, inside, parentheses = 0, 0, 0  # of a declaration; bodies and classes that are skipped
    for at, c in enumerate(text):
        parentheses += (c == "(") - (c == ")")
        if inside:
            inside += (c == "{") - (c == "}")
            if inside == 0:
                start = at + 1
            continue
        if parentheses or c not in "{};":
            continue
        head = SPECIFIER.sub("", TEMPLATE.sub("", text[start:at]))
        start = at + 1
        found = FUNCTION.search(head)
        if c == "{":
            if NAMESPACE.search(head):
                continue
            inside = 1
        if c != "}" and found and not NO_FUNCTION.search(head[:found.start()]):
            yield found[1], text.count("\n", 0, at) + 1, c == "{"


def reached(header, includes):
    seen, rest = set(), [header]
    while rest:
        for other in includes.get(rest.pop(), ()):
            if other not in seen:
                seen.add(other)
                rest.append(other)
    return seen


def arrows_up(texts, but=()):
    """texts: header -> its text. Returns (header, line, reason) for each such function, but for those names."""
    includes = {header: INCLUDE.findall(text) for header, text in texts.items()}
    declared, defined = {}, {}
    for header, text in texts.items():
        for name, line, is_defined in functions(text):
            (defined if is_defined else declared).setdefault(name, {}).setdefault(header, line)
    for name in sorted(declared.keys() & defined.keys() - set(but)):
        for low, line in declared[name].items():
            if low in defined[name]:
                continue
            for high in defined[name]:
                if low in reached(high, includes):
                    yield low, line, f"{name}() is defined in {high}, which includes this header"
