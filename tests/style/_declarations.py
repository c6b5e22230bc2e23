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
    before = words[:-1] if words[-1:] == ["("] else words
    return "(" in words and before[-1:] != ["requires"] and not {"=", "concept", "struct", "class", "union", "enum"} & set(words)


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
            calls = [i for i, word in enumerate(head) if word == "(" and i and NAME.fullmatch(head[i - 1]) and head[i - 1] not in NO_FUNCTION
                     and not head[i - 1].startswith("ALLOT_")]
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
