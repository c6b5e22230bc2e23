"""The declarations at namespace scope of a header, and the words of the pages that a user reads."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/allot"
# In Markdown a name counts in code, but not in the name of a file; in an example outside of comments and literals; in a contract anywhere.
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/gpu/*.md", "examples/**/*.md", "examples/**/*.[ch]pp", "examples/**/*.cu",
         "include/allot/core/category/*.hpp")
# For those that change the library; the glossary names internals, too.
INSIDE = {"docs/house.md", "docs/lock-free.md", "docs/soak.md", "docs/tests.md", "docs/words.md"}

NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\[^']*|[^'\\\n])'"""
                     r"|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
MARKDOWN_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.S | re.M)
FILE = re.compile(r"[\w/*.-]+\.[ch]pp\b")
NAME = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r"\w+|::|\S")
NAMESPACE = re.compile(r"(?:inline )?namespace(?: (\S.*))?")
PAIRS = {"(": ")", "[": "]", "{": "}"}
# Words before parentheses that hold no parameters.
NO_FUNCTION = {"alignas", "decltype", "noexcept", "requires", "__attribute__", "explicit", "sizeof"}


def code(text):
    """Without comments, literals and directives; each line stays."""
    return NO_CODE.sub(lambda found: "\n" * found[0].count("\n") + ("0 " if found[0][0] in "\"'R" else ""), text)


def words_of_pages():
    found = set()
    for path in sorted({path for page in PAGES for path in ROOT.glob(page)}):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if path.suffix == ".md":
            text = FILE.sub("", "\n".join(MARKDOWN_CODE.findall(text)))
        elif name.startswith("examples"):
            text = code(text)
        found |= set() if name in INSIDE else set(NAME.findall(text))
    return found


class scanner:
    def __init__(self, text):
        text = code(text)
        self.tokens = [(found[0], text.count("\n", 0, found.start()) + 1) for found in TOKEN.finditer(text)]
        self.at = 0

    def next(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def skip(self):
        """Behind the bracket that closes the next one."""
        opening, depth = self.next(), 0
        closing = PAIRS[opening]
        while True:
            depth += (self.next() == opening) - (self.next() == closing)
            self.at += 1
            if depth == 0:
                return

    def skip_parameters(self):
        """Of a template. What parentheses hold may have a > of its own."""
        depth = 0
        while True:
            if self.next() in PAIRS:
                self.skip()
                continue
            depth += (self.next() == "<") - (self.next() == ">")
            self.at += 1
            if depth == 0:
                return

    def declaration(self):
        """[(word, line)] up to and with its ; or the } of a body, or with the { of a namespace. No parameters of templates;
        of brackets what they hold is left out."""
        said = []
        while word := self.next():
            words = [word for word, _ in said]
            if word == "}":
                return said
            if word == "template":
                self.at += 1
                if self.next() == "<":
                    self.skip_parameters()
                continue
            if word == "[":
                self.skip()
                continue
            said.append((word, self.tokens[self.at][1]))
            if word == "{" and (NAMESPACE.fullmatch(" ".join(words)) or words == ["extern", "0"]):
                return said
            if word not in PAIRS:
                self.at += 1
            else:
                self.skip()
            if word == ";" or word == "{" and is_body(words):
                return said
        return said


def is_body(words):
    """Whether the { behind them begins the body of a function."""
    head = [word for i, word in enumerate(words) if word != "=" or not {"operator"} & set(words[max(0, i - 3):i])]
    if {"=", "concept", "struct", "class", "union", "enum"} & set(head) or not any(is_call(head, i) for i in range(len(head))):
        return False
    begins = [i for i, word in enumerate(head) if word == ":"]  # what a constructor initializes
    return head[-1] != ">" and not NAME.fullmatch(head[-1]) if begins else "requires" not in (head[-1], *head[-2:-1])[:1 + (head[-1] == "(")]


def is_call(words, i):
    """Whether parentheses at i hold the parameters of a function."""
    return words[i] == "(" and i != 0 and (
        NAME.fullmatch(words[i - 1]) is not None and words[i - 1] not in NO_FUNCTION and not words[i - 1].startswith("ALLOT_")
        or "operator" in words[:i])


def named(said):
    """(name, line, whether it is defined) of a declaration, or None."""
    words = [word for word, _ in said]
    at = None
    defined = "{" in words or "=" in words
    if words[0] == "using":
        at = 1 if "=" in words else None if words[1] in ("namespace", "enum") else len(words) - 2
    elif "concept" in words:
        at = words.index("concept") + 1
    elif words[0] not in ("static_assert", "friend", "extern", ";"):
        at = type_at(words)
        if at is None:
            head = words[:words.index("=")] if "=" in words and "operator" not in words else words
            if "operator" in words:  # of a literal
                at = words.index("operator") + 2
                return (words[at], said[at][1], defined) if NAME.fullmatch(words[at]) and words[at - 1] == "0" else None
            calls = [i for i in range(len(head)) if is_call(head, i)]
            at = calls[0] - 1 if calls else len([word for word in head if word not in "{;"]) - 1
            if words[at - 1] == "::":
                return None  # of a class
    if at is None or not NAME.fullmatch(words[at]) or words[at + 1:at + 2] == ["<"]:
        return None  # a specialization has the name of its template
    return words[at], said[at][1], defined


def type_at(words):
    for i, word in enumerate(words):
        if word in ("struct", "class", "union", "enum"):
            while words[i + 1] in ("class", "struct", "alignas", "(") or words[i + 1].startswith("ALLOT_"):
                i += 1
            return i + 1 if words[i + 2] in ("{", ";", ":", "final", "<") else None
    return None


def declarations(text):
    """(namespaces, name, line, whether it is defined) of each name at namespace scope, but for inline namespaces."""
    scan, spaces = scanner(text), []
    while scan.next():
        said = scan.declaration()
        words = [word for word, _ in said]
        space = NAMESPACE.fullmatch(" ".join(words[:-1]))
        if words and words[-1] == "{" and (space or words[:-1] == ["extern", "0"]):
            scan.at += 1
            names = re.sub(r"inline |^inline$", "", space[1] or "").split(" :: ") if space else []
            spaces.append([name for name in names if name and not name.startswith("ALLOT_") and not space[0].startswith("inline")])
        elif said:
            if found := named(said):
                yield [name for space in spaces for name in space], *found
        elif scan.next() == "}":
            spaces.pop()
            scan.at += 1
    if spaces:
        raise ValueError("a namespace does not end")


def public_functions(text):
    """(class, name, line, words of its parameters, names of types in `detail`) of the public functions of each class outside of `detail`."""
    scan, spaces = scanner(text), []
    while scan.next():
        begin = scan.at
        said = scan.declaration()
        words = [word for word, _ in said]
        space = NAMESPACE.fullmatch(" ".join(words[:-1]))
        if words and words[-1] == "{" and space:
            scan.at += 1
            spaces.append(space[1] or "")
        elif said:
            at = type_at(words)
            if at is not None and "{" in words and words[0] != "enum" and not any("detail" in space for space in spaces):
                body = next(i for i in range(begin, scan.at) if scan.tokens[i][0] == "{" and not within(scan.tokens, begin, i))
                yield from members(scan, body, words[at], words[at - 1] == "struct" or "struct" in words[:at])
        elif scan.next() == "}":
            spaces.pop()
            scan.at += 1


def within(tokens, begin, at):
    """Whether a parenthesis that begins behind `begin` is open at `at`."""
    return sum((word == "(") - (word == ")") for word, _ in tokens[begin:at]) != 0


def members(scan, body, of, is_public):
    """As public_functions() of one class, whose { is at `body`."""
    inner = scanner("")
    depth, end = 0, body
    while True:
        depth += (scan.tokens[end][0] == "{") - (scan.tokens[end][0] == "}")
        end += 1
        if depth == 0:
            break
    inner.tokens = scan.tokens[body + 1:end - 1]
    aliases, found = set(), []
    while inner.next():
        if inner.next() in ("public", "protected", "private") and inner.tokens[inner.at + 1][0] == ":":
            is_public = inner.next() == "public"
            inner.at += 2
            continue
        begin = inner.at
        said = inner.declaration()
        words = [word for word, _ in said]
        if words[:1] == ["using"] and "detail" in words and "=" in words:
            aliases.add(words[1])
        elif is_public and said and words[0] not in ("using", "friend", "static_assert", "struct", "class", "enum", "union", "template"):
            name = named(said)
            if name and "operator" not in words and "(" in words and name[0] != of and "~" not in words:
                at = next((i for i in range(begin, inner.at) if inner.tokens[i] == name[:2] and inner.tokens[i + 1][0] == "("), None)
                if at is None:
                    continue
                scan_at, inner.at = inner.at, at + 1
                inner.skip()
                found.append((name[0], name[1], [word for word, _ in inner.tokens[at + 2:inner.at - 1]]))
                inner.at = scan_at
    for name, line, parameters in found:
        yield of, name, line, parameters, aliases
