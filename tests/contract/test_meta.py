"""Which documents describe a server, and what is said about the others."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import meta, names
from pointsman_contract.meta import (
    EXPOSE,
    Definitions,
    Exposed,
    InvalidMeta,
    Meta,
    Override,
    Policy,
    Protocol,
)

GOLDEN = Path(__file__).parent / "golden"
_ERAS = "'Auto', 'Legacy' or 'Modern'"
URL = "http://127.0.0.1:9000/mcp"


def document(**members: object) -> bytes:
    return json.dumps({"url": URL, **members}).encode()


def load(data: bytes, folder: str = "tools.github") -> Meta:
    return meta.load(data, folder=folder)


def complaint(data: bytes, folder: str = "tools.github") -> str:
    with pytest.raises(InvalidMeta) as refused:
        meta.load(data, folder=folder)
    return str(refused.value)


FULL = Meta(
    name="github",
    namespace="tools",
    uid="0a8b6f0e-5a3c-4c8e-9d8f-2b1d3c4e5f60",
    generation=3,
    url="https://github-mcp.tools.svc:8443/mcp?team=a%20b",
    allowed_tools=('😀 "quoted" \\', "add", "größe"),
    prefix="gh",
    protocol=Protocol.MODERN,
    expose=(Exposed.PROMPTS, Exposed.RESOURCES),
    timeout_seconds=120,
    suspend=True,
)
DIGEST = f"sha256:{'0a' * 32}"
OWNED = Meta(
    name="github",
    namespace="tools",
    prefix="github",
    url=URL,
    allowed_tools=("*",),
    definitions=Definitions(policy=Policy.ENFORCE, approved={"größe": DIGEST, "add": DIGEST}),
    tools=(
        Override(
            name="größe",
            title="Size",
            description="Returns the size.\n\n\U0001f469\u200d\U0001f52c",
        ),
        Override(name="delete", hide=True),
    ),
    requires=("definitions", "tools"),
)
BARE = Meta(name="github", prefix="github", url=URL)


@pytest.mark.parametrize(
    ("server", "golden"),
    [
        pytest.param(FULL, "meta.json", id="every field"),
        pytest.param(OWNED, "meta-owned.json", id="what an owner says of tools"),
        pytest.param(BARE, "meta-defaults.json", id="what is needed"),
    ],
)
def test_a_published_document_is_the_golden_one_to_the_byte(server: Meta, golden: str) -> None:
    assert meta.dump(server) == (GOLDEN / golden).read_bytes()


def test_equal_servers_are_published_in_equal_bytes() -> None:
    other = FULL.model_copy(update={"allowed_tools": FULL.allowed_tools[::-1]})

    assert meta.dump(other) == meta.dump(FULL)


def test_the_golden_document_is_read_back() -> None:
    server = load((GOLDEN / "meta.json").read_bytes())

    assert server == FULL.model_copy(update={"allowed_tools": tuple(sorted(FULL.allowed_tools))})
    assert server.id == "tools/github"


def test_the_golden_document_of_an_owner_is_read_back() -> None:
    server = load((GOLDEN / "meta-owned.json").read_bytes())

    assert server == OWNED.model_copy(update={"tools": OWNED.tools[::-1]})
    assert sorted(server.requires) == list(server.restrictions)


def test_the_order_in_which_an_owner_names_tools_does_not_matter() -> None:
    approved = dict(reversed(OWNED.definitions.approved.items()))
    definitions = OWNED.definitions.model_copy(update={"approved": approved})
    other = OWNED.model_copy(update={"tools": OWNED.tools[::-1], "definitions": definitions})

    assert meta.dump(other) == meta.dump(OWNED)


def test_without_a_policy_and_without_overrides_nothing_is_said_of_tools() -> None:
    server = load(document(definitions={"approved": {"add": DIGEST}}, tools=[]))

    assert server.definitions == Definitions(approved={"add": DIGEST})
    assert server.restrictions == ()
    assert meta.dump(server) == meta.dump(load(document()))


@pytest.mark.parametrize(
    ("members", "restrictions"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"definitions": {"policy": "Off"}}, (), id="approved by nobody"),
        pytest.param({"definitions": {"policy": "Warn"}}, (), id="only told"),
        pytest.param({"definitions": {"policy": "Enforce"}}, ("definitions",), id="enforced"),
        pytest.param({"tools": [{"name": "a", "title": "A"}]}, (), id="reworded"),
        pytest.param({"tools": [{"name": "a", "hide": False}]}, (), id="not hidden"),
        pytest.param({"tools": [{"name": "a", "hide": True}]}, ("tools",), id="hidden"),
        pytest.param(
            {
                "expose": ["Prompts"],
                "definitions": {"policy": "Enforce"},
                "tools": [{"name": "a"}, {"name": "b", "hide": True}],
            },
            ("definitions", "expose", "tools"),
            id="all of them",
        ),
    ],
)
def test_what_restricts_is_named_for_readers_that_may_not_know_it(
    members: dict[str, object], restrictions: tuple[str, ...]
) -> None:
    assert load(document(**members)).restrictions == restrictions


def test_url_alone_is_enough_and_the_folder_names_the_server() -> None:
    server = load(document(), folder="my-server")

    assert (server.name, server.namespace, server.id) == ("my-server", None, "my-server")
    assert server.prefix == "my_server"
    assert server.allowed_tools == ()
    assert (server.protocol, server.timeout_seconds) == (Protocol.AUTO, 60)
    assert server.expose == (Exposed.TOOLS,)
    assert not server.suspend


def test_the_name_in_the_document_goes_before_that_of_the_folder() -> None:
    server = load(document(name="github"), folder="elsewhere")

    assert (server.name, server.prefix) == ("github", "github")


@pytest.mark.parametrize(
    "field",
    ["namespace", "uid", "generation", "url", "allowedTools", "prefix", "definitions", "tools"],
)
def test_null_says_the_same_as_an_absent_field(field: str) -> None:
    absent = {key: value for key, value in {"url": URL}.items() if key != field}

    assert load(document(**{field: None})) == load(json.dumps(absent).encode())


@pytest.mark.parametrize(
    ("members", "allowed"),
    [
        pytest.param({}, (), id="missing"),
        pytest.param({"allowedTools": None}, (), id="null"),
        pytest.param({"allowedTools": []}, (), id="empty"),
        pytest.param({"AllowedTools": ["*"]}, (), id="misspelt"),
        pytest.param({"allowedTools": ["add"]}, ("add",), id="one"),
        pytest.param({"allowedTools": ["*"]}, ("*",), id="every tool"),
        pytest.param({"allowedTools": ["*", "x"]}, ("*", "x"), id="the star among others"),
    ],
)
def test_every_tool_is_allowed_by_the_lone_star_and_by_nothing_else(
    members: dict[str, object], allowed: tuple[str, ...]
) -> None:
    server = load(document(**members))

    assert server.allowed_tools == allowed
    assert server.allows_every_tool == (allowed == ("*",))


def test_unknown_fields_are_ignored() -> None:
    assert load(document(future={"deep": [1]}, Url="x", allowed_tools=["*"])) == load(document())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="an empty file"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'"x"', id="a string"),
        pytest.param(b"url: http://127.0.0.1/", id="YAML"),
        pytest.param(b"\xef\xbb\xbf" + document(), id="a byte order mark"),
        pytest.param(document().decode().encode("utf-16"), id="UTF-16"),
        pytest.param('{"url": "é"}'.encode("latin-1"), id="a Latin-1 byte"),
        pytest.param(document() + b"\x00", id="a null byte"),
        pytest.param(b'{"allowedTools": ["x"], "allowedTools": ["*"]}', id="a field twice"),
        pytest.param(b'{"x": {"a": 1, "a": 2}}', id="a key twice in an unknown field"),
        pytest.param(b'{"x": NaN}', id="NaN"),
        pytest.param(b'{"x": -Infinity}', id="infinity"),
        pytest.param(b'{"x": 1e400}', id="a number that overflows"),
        pytest.param(b'{"x": "\\ud800"}', id="half of a surrogate pair"),
        pytest.param(b'{"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", id="10,000 levels"),
        pytest.param(document(x="x" * 257 * 1024), id="257 KiB"),
    ],
)
def test_what_is_no_strict_json_object_is_invalid_as_a_whole(data: bytes) -> None:
    assert complaint(data).startswith("the file ")


def test_the_largest_document_is_256_kib() -> None:
    smallest = document(x="")
    largest = document(x="x" * (meta.MAX_BYTES - len(smallest)))

    assert len(largest) == 256 * 1024
    assert load(largest) == load(smallest)
    assert "larger than" in complaint(largest.replace(b"xx", b"xxx", 1))


@pytest.mark.parametrize("golden", ["meta.json", "meta-defaults.json"])
def test_a_document_cut_at_any_byte_is_invalid(golden: str) -> None:
    whole = (GOLDEN / golden).read_bytes().rstrip()
    for end in range(len(whole)):
        assert complaint(whole[:end]).startswith("the file ")


@pytest.mark.parametrize(
    ("members", "words"),
    [
        pytest.param({"schemaVersion": 2}, "schemaVersion: must be at most 1", id="a later schema"),
        pytest.param({"schemaVersion": 0}, "schemaVersion: must be at least 1", id="no schema"),
        pytest.param({"schemaVersion": "1"}, "schemaVersion: must be a whole number", id="a word"),
        pytest.param({"schemaVersion": True}, "schemaVersion: must be a whole number", id="true"),
        pytest.param({"schemaVersion": 1.0}, "schemaVersion: must be a whole number", id="1.0"),
        pytest.param({"name": 7}, "name: must be a string", id="a number as name"),
        pytest.param({"name": None}, "name: must be a string", id="null as name"),
        pytest.param({"name": ""}, "name: ", id="an empty name"),
        pytest.param({"name": "a/b"}, "name must hold no /", id="a slash in the name"),
        pytest.param({"name": "a\nb"}, "name must hold no /", id="a line break in the name"),
        pytest.param({"name": "a\u202eb"}, "name must hold no /", id="a hidden character"),
        pytest.param({"name": "a" * 254}, "name: must hold at most 253", id="a long name"),
        pytest.param({"name": "日本"}, "name: holds no letter or digit", id="no prefix in it"),
        pytest.param({"namespace": "Tools"}, "namespace: must match", id="a namespace in capitals"),
        pytest.param({"namespace": "a.b"}, "namespace: must match", id="a namespace with a dot"),
        pytest.param({"namespace": "a\n"}, "namespace: must match", id="a line break at its end"),
        pytest.param({"namespace": ["a"]}, "namespace: must be a string", id="a list of them"),
        pytest.param({"uid": 7}, "uid: must be a string", id="a number as uid"),
        pytest.param({"generation": "3"}, "generation: must be a whole number", id="a text"),
        pytest.param({"generation": -1}, "generation: must be at least 0", id="a negative one"),
        pytest.param({"url": 7}, "url: must be a string", id="a number as url"),
        pytest.param({"url": [URL]}, "url: must be a string", id="a list of urls"),
        pytest.param({"allowedTools": "*"}, "allowedTools: must be a list", id="the bare star"),
        pytest.param({"allowedTools": {}}, "allowedTools: must be a list", id="an object of tools"),
        pytest.param({"allowedTools": True}, "allowedTools: must be a list", id="true for all"),
        pytest.param(
            {"allowedTools": [1]}, "allowedTools[0]: must be a string", id="a number as tool"
        ),
        pytest.param(
            {"allowedTools": ["a", None]}, "allowedTools[1]: must be a string", id="null as tool"
        ),
        pytest.param(
            {"allowedTools": ["a", ""]}, "allowedTools[1]: must not be empty", id="an empty tool"
        ),
        pytest.param(
            {"allowedTools": ["a\x00"]}, "allowedTools[0]: must match", id="a null in a tool"
        ),
        pytest.param(
            {"allowedTools": ["a\n"]}, "allowedTools[0]: must match", id="a line break in a tool"
        ),
        pytest.param(
            {"allowedTools": ["x" * 129]},
            "allowedTools[0]: must hold at most 128 characters",
            id="a tool of 129 characters",
        ),
        pytest.param(
            {"allowedTools": [str(number) for number in range(501)]},
            "allowedTools: must hold at most 500 items",
            id="501 tools",
        ),
        pytest.param({"prefix": "My-Srv"}, "prefix must match", id="a prefix in capitals"),
        pytest.param({"prefix": ""}, "prefix must match", id="an empty prefix"),
        pytest.param({"prefix": "a\n"}, "prefix must match", id="a prefix with a line break"),
        pytest.param({"prefix": "a" * 33}, "at most 32 characters", id="a prefix of 33"),
        pytest.param({"prefix": 7}, "prefix: must be a string", id="a number as prefix"),
        *(
            pytest.param({"protocol": value}, f"protocol: must be {_ERAS}", id=f"protocol {words}")
            for words, value in {
                "in small letters": "modern",
                "empty": "",
                "null": None,
                "a number": 1,
                "a list": ["Auto"],
            }.items()
        ),
        pytest.param({"expose": []}, "expose: must hold at least 1", id="nothing exposed"),
        pytest.param({"expose": None}, "expose: must be a list", id="null to expose"),
        pytest.param({"expose": ["tools"]}, "expose[0]: must be", id="expose in small letters"),
        pytest.param({"expose": "Tools"}, "expose: must be a list", id="a word to expose"),
        pytest.param({"timeoutSeconds": 0}, "timeoutSeconds: must be at least 1", id="no time"),
        pytest.param(
            {"timeoutSeconds": 301}, "timeoutSeconds: must be at most 300", id="301 seconds"
        ),
        pytest.param(
            {"timeoutSeconds": 1.5}, "timeoutSeconds: must be a whole number", id="1.5 seconds"
        ),
        pytest.param(
            {"timeoutSeconds": "60"}, "timeoutSeconds: must be a whole number", id="60 as text"
        ),
        pytest.param({"suspend": "true"}, "suspend: must be true or false", id="a word for true"),
        pytest.param({"suspend": 1}, "suspend: must be true or false", id="a number for true"),
        pytest.param({"suspend": None}, "suspend: must be true or false", id="null for false"),
        pytest.param({"requires": "pins"}, "requires: must be a list", id="a bare requirement"),
        pytest.param(
            {"requires": [1]}, "requires[0]: must be a string", id="a number as requirement"
        ),
        *(
            pytest.param({"definitions": value}, words, id=f"definitions: {id_}")
            for id_, value, words in (
                ("a list", [], "definitions: must be an object"),
                ("no policy", {"policy": "Strict"}, "definitions.policy: must be 'Off', 'Warn'"),
                ("null", {"policy": None}, "definitions.policy: must be"),
                ("in small letters", {"policy": "enforce"}, "definitions.policy: must be"),
                ("a list of approved", {"approved": ["a"]}, "definitions.approved: must be an obj"),
                ("no digest", {"approved": {"a": "abc"}}, "definitions.approved.a: must match"),
                ("one cut", {"approved": {"a": DIGEST[:-1]}}, "definitions.approved.a: must match"),
                ("a line more", {"approved": {"a": f"{DIGEST}\n"}}, "definitions.approved.a: must"),
                (
                    "in capitals",
                    {"approved": {"a": DIGEST.upper()}},
                    "definitions.approved.a: must",
                ),
                (
                    "null for one",
                    {"approved": {"a": None}},
                    "definitions.approved.a: must be a str",
                ),
                ("an empty name", {"approved": {"": DIGEST}}, "must not be empty"),
                (
                    "501 of them",
                    {"approved": {str(number): DIGEST for number in range(501)}},
                    "definitions.approved: ",
                ),
            )
        ),
        *(
            pytest.param({"tools": value}, words, id=f"tools: {id_}")
            for id_, value, words in (
                ("an object", {}, "tools: must be a list"),
                ("a name alone", ["a"], "tools[0]: must be an object"),
                ("no name", [{"title": "A"}], "tools[0].name: "),
                ("an empty name", [{"name": ""}], "tools[0].name: must not be empty"),
                ("a null in a name", [{"name": "a\x00"}], "tools[0].name: must match"),
                (
                    "a name twice",
                    [{"name": "a"}, {"name": "a"}],
                    "tools must not hold a name twice",
                ),
                (
                    "no title in it",
                    [{"name": "a", "title": ""}],
                    "tools[0].title: must not be empt",
                ),
                (
                    "a long title",
                    [{"name": "a", "title": "x" * 201}],
                    "tools[0].title: must hold at most 200 characters",
                ),
                (
                    "a long description",
                    [{"name": "a", "description": "x" * 4097}],
                    "tools[0].description: must hold at most 4096 characters",
                ),
                ("a word to hide", [{"name": "a", "hide": "yes"}], "tools[0].hide: must be true"),
                (
                    "a title that hides",
                    [{"name": "a", "title": "a\u202eb"}],
                    "tools[0]: title must hold no hidden character such as U+202E",
                ),
                (
                    "a description that hides",
                    [{"name": "b"}, {"name": "a", "description": "\U000e0041"}],
                    "tools[1]: description must hold no hidden character such as U+E0041",
                ),
                (
                    "501 of them",
                    [{"name": str(number)} for number in range(501)],
                    "tools: must hold at most 500 items",
                ),
            )
        ),
        pytest.param({"issuer": 7}, "issuer: must be a string", id="a number as issuer"),
        pytest.param(
            {"bearerFromEnv": {}}, "bearerFromEnv: must be a string", id="an object for a variable"
        ),
    ],
)
def test_a_wrong_field_makes_the_file_invalid_and_is_named(
    members: dict[str, object], words: str
) -> None:
    assert words in complaint(document(**members))


def test_a_folder_without_letter_or_digit_needs_a_name_or_a_prefix_in_the_document() -> None:
    assert "name: " in complaint(document(), folder="日本")
    assert load(document(prefix="japan"), folder="日本").name == "日本"


@pytest.mark.parametrize(
    ("members", "field", "value"),
    [
        pytest.param({"requires": ["from-the-future"]}, "requires", ("from-the-future",), id="new"),
        pytest.param({"issuer": "https://id"}, "issuer", "https://id", id="an issuer"),
        pytest.param({"bearerFromEnv": "TOKEN"}, "bearer_from_env", "TOKEN", id="a variable"),
        pytest.param({"url": "ftp://x"}, "url", "ftp://x", id="an address that is none"),
        pytest.param({"url": ""}, "url", "", id="no address"),
    ],
)
def test_what_costs_the_server_alone_does_not_make_the_file_invalid(
    members: dict[str, object], field: str, value: object
) -> None:
    assert getattr(load(document(**members)), field) == value


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"expose": ["Dreams"]}, id="a kind that is to come"),
        pytest.param({"protocol": "Postmodern"}, id="an era that is to come"),
        pytest.param({"allowedTools": [{"name": "x"}]}, id="another form of a list"),
        pytest.param({"timeoutSeconds": 900}, id="a bound that was raised"),
    ],
)
def test_what_needs_a_newer_reader_is_not_judged_by_this_one(members: dict[str, object]) -> None:
    found = load(document(requires=["from-the-future"], **members))

    assert found.requires == ("from-the-future",)
    assert found.allowed_tools == ()


PREFIXES = st.from_regex(names.PREFIX_PATTERN, fullmatch=True).filter(names.is_prefix)
TOOLS = st.text(min_size=1, max_size=128).filter(
    lambda tool: all(
        ord(character) > 0x1F and not 0x7F <= ord(character) <= 0x9F for character in tool
    )
)
METAS = st.builds(
    Meta,
    name=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    namespace=st.none() | st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    uid=st.none() | st.uuids().map(str),
    generation=st.none() | st.integers(0, 2**63),
    url=st.text(max_size=30),
    allowed_tools=st.lists(TOOLS, max_size=5, unique=True).map(lambda tools: tuple(sorted(tools))),
    prefix=PREFIXES,
    protocol=st.sampled_from(Protocol),
    expose=st.sets(st.sampled_from(Exposed), min_size=1).map(lambda kinds: tuple(sorted(kinds))),
    timeout_seconds=st.integers(1, 300),
    suspend=st.booleans(),
    requires=st.sampled_from([(), (EXPOSE,)]),
)


@given(METAS)
def test_what_is_published_is_what_is_read(server: Meta) -> None:
    published = meta.dump(server)

    assert load(published, folder="elsewhere") == server
    assert meta.dump(load(published)) == published
    assert published.endswith(b"}\n")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    (
        *("schemaVersion", "name", "namespace", "uid", "generation", "url", "allowedTools"),
        *("prefix", "protocol", "expose", "timeoutSeconds", "suspend", "requires"),
        *("issuer", "bearerFromEnv", "other"),
    )
)


@given(st.dictionaries(FIELDS, ODD, max_size=6), st.text(max_size=10))
def test_no_document_however_odd_does_more_than_be_invalid(
    members: dict[str, object], folder: str
) -> None:
    data = json.dumps(members).encode()
    try:
        server = load(data, folder=folder)
    except InvalidMeta:
        return

    assert names.is_prefix(server.prefix)
    assert meta.dump(server)
