"""C++ text by its tokens: white space, line breaks and comments do not count, so what is found survives reformatting."""
import functools
import re

# A comment; a literal; a number or a name; a punctuator.
TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])* | /\*.*?\*/
    | R"(?P<raw>[^()\\\s]*)\(.*?\)(?P=raw)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | \.?\d(?:'?[\w.]|(?<=[eEpP])[+-])* | \w+
    | <=> | <<= | \.\.\. | ->\*? | :: | \+\+ | -- | << | [-+*/%&|^!=<>]= | && | \|\| | \#\# | \S""",
    re.VERBOSE | re.DOTALL)
BETWEEN = "\x1f"  # stands in no token
KINDS = {"namespace", "class", "struct", "union", "enum"}


def tokens(text):
    return [m for m in TOKEN.finditer(text) if not m[0].startswith(("//", "/*"))]


def joined(found):
    return BETWEEN + "".join(m[0] + BETWEEN for m in found)


def sequence(text):
    """The tokens of a text as a string, to be looked for in a source's."""
    return joined(tokens(text))


def scope_name(head):
    """Of what begins with these tokens and a brace: "account", "account::confirm"; empty if it has none."""
    if head[:1] == ["template"]:
        depth = 0
        for i, token in enumerate(head):
            depth += (token == "<") - (token == ">")
            if token == ">" and depth == 0:
                return scope_name(head[i + 1:])
    to = head.index("(") if "(" in head else len(head)
    if kind := next((i for i, token in enumerate(head[:to]) if token in KINDS), None):
        return scope_name(head[kind:])
    if head and head[0] in KINDS:
        names = [token for token in head[1:] if token not in KINDS]
        to = next((i for i, token in enumerate(names) if not re.match(r"\w|::", token)), len(names))
        return "".join(token for token in names[:to] if token not in ("inline", "final"))
    at = to
    while at > 0 and re.fullmatch(r"\w+|::|~", head[at - 1]) and (at == to or "::" in head[at - 1:at + 1] or head[at] == "~"):
        at -= 1
    return "".join(head[at:to]) if to != len(head) else ""


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = tokens(text)
        self.sequence = joined(self.tokens)

    @functools.cached_property
    def scopes(self):
        """What stands in braces: (first token, last token, name), the outer before the inner."""
        words, found, opened, head = [m[0] for m in self.tokens], [], [], 0
        for i, word in enumerate(words):
            if word == "{":
                opened.append((len(found), head))
                found.append((i, len(words), scope_name(words[head:i])))
                head = i + 1
            elif word == "}" and opened:
                at, before = opened.pop()
                found[at] = found[at][0], i, found[at][2]
                # A braced initializer is a part of what it stands in.
                head = before if words[i + 1:i + 2] in (["{"], [","], [")"]) else i + 1
            elif word == ";":
                head = i + 1
        return found

    def encloses(self, within, token):
        path = "::".join(name for first, last, name in self.scopes if first < token <= last and name)
        return f"::{within}::" in f"::{path}::"

    def spans(self, wanted, within=None):
        """Where the sequence is in the text, from its first token to its last; within: inside a function or class of this name."""
        count, found, at = wanted.count(BETWEEN) - 1, [], self.sequence.find(wanted)
        while at >= 0:
            first = self.sequence.count(BETWEEN, 0, at)
            if within is None or self.encloses(within, first + count - 1):
                found.append((self.tokens[first].start(), self.tokens[first + count - 1].end()))
            at = self.sequence.find(wanted, at + 1)
        return found
