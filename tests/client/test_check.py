"""What `pointsman check` says of a file, and with which exit status."""

import json
from pathlib import Path

import pytest

from client.command import good, run, view

HEAD = "apiVersion: pointsman.dev/v1alpha1\nkind: McpServer\n"
NAMED = f"{HEAD}metadata:\n  name: x\n"
WITH_URL = f"{NAMED}spec:\n  url: http://127.0.0.1/mcp\n"
IN_TOOLS = f"{HEAD}metadata:\n  name: x\n  namespace: tools\n"
DIGEST = f"sha256:{'0' * 64}"

EXAMPLES = Path(__file__).parents[2] / "examples" / "quickstart"


def test_the_examples_are_in_order() -> None:
    result = run("check", EXAMPLES)

    assert result.exit_code == 0
    assert [line.split(": ", 1)[1] for line in result.output.splitlines()] == [
        "clock: Accepted (prefix clock)",
        "notes: Accepted (prefix notes)",
    ]


def test_the_examples_for_a_cluster_are_in_order() -> None:
    result = run("check", EXAMPLES.parent / "cluster")

    said = [line.split(": ", 1)[1] for line in result.output.splitlines()]
    assert result.exit_code == 0
    assert [line for line in said if not line.startswith("OtherKind")] == [
        "pointsman-examples/clock: Accepted (prefix clock)",
        "pointsman-examples/notes: Accepted (prefix notes)",
        "view pointsman-examples/reading: Accepted (2 servers)",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            f"{WITH_URL}  allowedTool: [a]\n",
            ["7: x: InvalidSpec: spec.allowedTool is no field: did you mean allowedTools?"],
            id="a field misspelled",
        ),
        pytest.param(
            f"{WITH_URL}  suspended: true\n",
            ["7: x: InvalidSpec: spec.suspended is no field: did you mean suspend?"],
            id="a field in another form",
        ),
        pytest.param(
            f"{WITH_URL}  headers: {{}}\n",
            [
                (
                    "7: x: InvalidSpec: spec.headers is no field: known here are allowedTools,"
                    " definitions, expose, prefix, protocol, service, suspend, timeoutSeconds,"
                    " tools, url"
                )
            ],
            id="a field like no other",
        ),
        pytest.param(
            f"{WITH_URL}url: http://127.0.0.1/\n",
            ["7: x: InvalidSpec: url is no field: url belongs under spec"],
            id="a field one level too high",
        ),
        pytest.param(
            f"{WITH_URL}  name: y\n",
            ["7: x: InvalidSpec: spec.name is no field: name belongs under metadata"],
            id="a field in the wrong place",
        ),
        pytest.param(
            f"{HEAD}metadata:\n  name: x\n  label: {{}}\nspec:\n  url: http://127.0.0.1/mcp\n",
            ["5: x: InvalidSpec: metadata.label is no field: did you mean labels?"],
            id="a metadata field misspelled",
        ),
        pytest.param(
            f"{WITH_URL}  URL: y\n  Prefix: z\n",
            [
                "7: x: InvalidSpec: spec.URL is no field: did you mean url?",
                "8: x: InvalidSpec: spec.Prefix is no field: did you mean prefix?",
            ],
            id="two fields in capitals",
        ),
        pytest.param(
            f"{NAMED}spec:\n  url: ftp://127.0.0.1/\n",
            ["6: x: InvalidUrl: spec.url must begin with http:// or https:// in lower case"],
            id="another scheme",
        ),
        pytest.param(
            f"{NAMED}spec:\n  allowedTools: []\n",
            ["5: x: InvalidUrl: spec.url must be given, or spec.service in its place"],
            id="no url",
        ),
        pytest.param(
            f"{WITH_URL}  allowedTools:\n  - a\n  - on\n",
            [
                (
                    "9: x: InvalidSpec: spec.allowedTools[1] must be a string (without quotes, on"
                    ' is no string: write "on")'
                )
            ],
            id="a tool whose name is a word for true",
        ),
        pytest.param(
            f'{WITH_URL}  allowedTools: ["*", a]\n',
            ['7: x: InvalidSpec: spec.allowedTools must hold "*" alone, or names without it'],
            id="every tool, and one",
        ),
        pytest.param(
            f"{WITH_URL}  protocol: off\n",
            ["7: x: InvalidSpec: spec.protocol must be one of Auto, Legacy, Modern"],
            id="a word for false where an era was meant",
        ),
        pytest.param(
            f"{WITH_URL}  timeoutSeconds: 301\n",
            ["7: x: InvalidSpec: spec.timeoutSeconds must be a whole number from 1 to 300"],
            id="too much time",
        ),
        pytest.param(
            f'{WITH_URL}  suspend: "yes"\n',
            ["7: x: InvalidSpec: spec.suspend must be true or false"],
            id="a word where true or false was meant",
        ),
        pytest.param(
            f"{HEAD}metadata:\n  name: a.b\nspec:\n  url: http://127.0.0.1/mcp\n",
            [
                (
                    "4: InvalidSpec: metadata.name must be a DNS label: 1 to 63 lower-case letters,"
                    " digits and inner hyphens, without a dot"
                )
            ],
            id="a name with a dot",
        ),
        pytest.param(
            "apiVersion: pointsman.dev/v1\nkind: McpServer\nmetadata: {name: x}\n",
            ["1: x: InvalidSpec: apiVersion must be pointsman.dev/v1alpha1"],
            id="another version",
        ),
        pytest.param(
            "apiVersion: pointsman.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: x}\n",
            ["2: InvalidSpec: kind must be McpServer or McpView"],
            id="a kind misspelled",
        ),
        pytest.param(
            "apiVersion: pointsman.dev/v1alpha1\nkind: [McpServer]\nmetadata: {name: x}\n",
            ["2: InvalidSpec: kind must be McpServer or McpView"],
            id="a list of kinds",
        ),
        pytest.param(
            "apiVersion: pointsman.dev/v1alpha1\nkind: {a: b}\nmetadata: {name: x}\n",
            ["2: InvalidSpec: kind must be McpServer or McpView"],
            id="an object for a kind",
        ),
        pytest.param(
            "spec:\n  url: x\n",
            [
                "1: InvalidSpec: apiVersion must be pointsman.dev/v1alpha1",
                "1: InvalidSpec: kind must be McpServer or McpView",
            ],
            id="neither version nor kind",
        ),
        pytest.param(
            "hello\n",
            [
                (
                    "1: InvalidSpec: a resource must be an object with apiVersion, kind, metadata"
                    " and spec"
                )
            ],
            id="a text",
        ),
        pytest.param(
            f"{IN_TOOLS}spec:\n  service:\n    nmae: a\n    port: 80\n    name: a\n",
            ["8: tools/x: InvalidSpec: spec.service.nmae is no field: did you mean name?"],
            id="a field of the service misspelled",
        ),
        pytest.param(
            f"{IN_TOOLS}spec:\n  service: {{name: a, port: 80, namespace: other}}\n",
            [
                (
                    "7: tools/x: InvalidSpec: spec.service.namespace is no field: namespace belongs"
                    " under metadata"
                )
            ],
            id="a service of another namespace",
        ),
        pytest.param(
            f"{IN_TOOLS}spec:\n  service:\n    name: a.other\n    port: 80\n",
            [
                (
                    "8: tools/x: InvalidSpec: spec.service.name must be the name of a Service: 1 to"
                    " 63 lower-case letters, digits and inner hyphens, the first a letter, without"
                    " a dot"
                )
            ],
            id="a service whose name has a dot",
        ),
        pytest.param(
            f"{NAMED}spec:\n  service: {{name: a, port: 80}}\n",
            [
                (
                    "6: x: InvalidSpec: spec.service must be in a cluster, in the namespace of the"
                    " resource, and the file states none: write metadata.namespace, or spec.url"
                    " where there is no cluster"
                )
            ],
            id="a service without a namespace",
        ),
        pytest.param(
            f"{WITH_URL}  service: {{name: a, port: 80}}\n",
            [
                (
                    "7: x: InvalidSpec: spec.service must not be given beside spec.url: keep one of"
                    " them"
                )
            ],
            id="a service beside a url",
        ),
        pytest.param(
            f"{WITH_URL}  tools:\n  - name: a\n    title: A\n  - name: b\n    descripton: B\n",
            [
                (
                    "10: x: InvalidSpec: spec.tools[1] must give a title or a description, or hide"
                    " the tool"
                ),
                (
                    "11: x: InvalidSpec: spec.tools[1].descripton is no field: did you mean"
                    " description?"
                ),
            ],
            id="a field of a tool misspelled",
        ),
        pytest.param(
            f"{WITH_URL}  tools:\n  - name: a\n    hide: 1\n",
            ["9: x: InvalidSpec: spec.tools[0].hide must be true or false"],
            id="a number where true or false was meant",
        ),
        pytest.param(
            f'{WITH_URL}  tools:\n  - name: a\n    title: "a\\u202eb"\n',
            [
                (
                    "9: x: InvalidSpec: spec.tools[0].title must not hold a hidden character such"
                    " as U+202E"
                )
            ],
            id="a title that hides something",
        ),
        pytest.param(
            f"{WITH_URL}  title: A\n  approved: {{}}\n",
            [
                "7: x: InvalidSpec: spec.title is no field: title belongs under spec.tools[]",
                (
                    "8: x: InvalidSpec: spec.approved is no field: approved belongs under"
                    " spec.definitions"
                ),
            ],
            id="fields one level too high",
        ),
        pytest.param(
            f"{WITH_URL}  definitions: {{policy: Off}}\n",
            [
                (
                    "7: x: InvalidSpec: spec.definitions.policy must be one of Off, Warn, Enforce"
                    ' (without quotes, Off is no string: write "Off")'
                )
            ],
            id="a policy that is a word for false",
        ),
        pytest.param(
            f"{WITH_URL}  definitions: {{policy: no}}\n",
            ["7: x: InvalidSpec: spec.definitions.policy must be one of Off, Warn, Enforce"],
            id="another word for false where a policy was meant",
        ),
        pytest.param(
            f"{WITH_URL}  definitions:\n    approved:\n      a.b[c]:\n        sha256:1\n",
            [
                (
                    "9: x: InvalidSpec: spec.definitions.approved[a.b[c]] must be sha256: and 64"
                    " lower-case hex digits"
                )
            ],
            id="a digest cut short",
        ),
        pytest.param(
            f"{WITH_URL}  prefix: a\n  prefix: b\n",
            ["8: Unreadable: the key prefix is there twice, first on line 7"],
            id="a field twice",
        ),
        pytest.param(
            f"{WITH_URL}---\n{WITH_URL}",
            ["11: x: Duplicate: metadata.name describes x again: {file}:1 does already"],
            id="a server twice",
        ),
        pytest.param(
            f"{good('a-b')}---\n{good('a--b')}",
            ["13: a--b: PrefixConflict: spec.prefix must be another: a_b belongs to a-b"],
            id="a prefix twice",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_to_write_instead(
    tmp_path: Path, text: str, said: list[str]
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(text)

    result = run("check", file)

    assert result.exit_code == 1
    wrong = [line for line in result.output.splitlines() if ": Accepted" not in line]
    assert wrong == [f"{file}:{line.format(file=file)}" for line in said]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        pytest.param("", "prefix x; no tool allowed: list some in spec.allowedTools", id="no tool"),
        pytest.param(
            "  allowedTools: [a]\n  suspend: yes\n", "prefix x; suspended", id="suspended"
        ),
        pytest.param("  allowedTools: [a]\n  prefix: mine\n", "prefix mine", id="a prefix given"),
        pytest.param("  allowedTools: [a]\nstatus: {a: b}\n", "prefix x", id="with its status"),
        pytest.param(
            f'  allowedTools: ["*"]\n  definitions: {{approved: {{a: {DIGEST}}}}}\n',
            "prefix x; no approval matters: spec.definitions.policy is Off",
            id="an approval without a policy",
        ),
        pytest.param(
            '  allowedTools: ["*"]\n  definitions: {policy: Enforce}\n',
            "prefix x; 0 approved, no other is served",
            id="nothing approved",
        ),
        pytest.param(
            f'  allowedTools: ["*"]\n  definitions: {{policy: Warn, approved: {{a: {DIGEST}}}}}\n',
            "prefix x; 1 approved, a warning for the others",
            id="a warning for all but one",
        ),
        pytest.param(
            "  allowedTools: [a]\n  tools: [{name: b, title: B}, {name: c, hide: true}]\n",
            "prefix x; spec.tools words b, which spec.allowedTools does not allow",
            id="words on a tool that is not allowed",
        ),
        pytest.param(
            '  allowedTools: ["*"]\n  tools: [{name: b, title: B}]\n',
            "prefix x",
            id="words on one of all tools",
        ),
    ],
)
def test_a_good_resource_is_accepted_with_what_one_should_know(
    tmp_path: Path, more: str, said: str
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(WITH_URL + more)

    result = run("check", file)

    assert result.exit_code == 0
    assert result.output == f"{file}:1: x: Accepted ({said})\n"


def test_a_service_of_a_stated_namespace_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f"{IN_TOOLS}spec:\n  service: {{name: a, port: 80}}\n  allowedTools: [a]\n")

    result = run("check", file)

    assert result.exit_code == 0
    assert result.output == f"{file}:1: tools/x: Accepted (prefix x)\n"


def test_what_makes_a_document_too_large_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    texts = "".join(f"  - {{name: t{n}, description: {'x' * 4096}}}\n" for n in range(64))
    file.write_text(f"{WITH_URL}  allowedTools: [a]\n  tools:\n{texts}")

    result = run("check", file)

    assert result.exit_code == 1
    assert result.output.startswith(f"{file}:8: x: TooLarge: spec.tools makes the published")
    assert "shorten the descriptions there, or override fewer tools" in result.output


def test_one_bad_resource_does_not_cost_the_others(tmp_path: Path) -> None:
    file = tmp_path / "servers.yaml"
    file.write_text(f"{good('a')}---\n{NAMED}spec: {{}}\n---\n{good('b')}")

    result = run("check", file)

    assert result.exit_code == 1
    assert [line.split(": ")[1:3] for line in result.output.splitlines()] == [
        ["a", "Accepted (prefix a)"],
        ["x", "InvalidUrl"],
        ["b", "Accepted (prefix b)"],
    ]


def test_what_kubectl_prints_as_a_list_is_read_as_its_items(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    items = "".join(f"- {good(name)}".replace("\n", "\n  ").rstrip(" ") for name in ("one", "two"))
    file.write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}")

    result = run("check", file)

    assert result.exit_code == 0
    assert result.output == (
        f"{file}:4: one: Accepted (prefix one)\n{file}:11: two: Accepted (prefix two)\n"
    )


def test_another_kind_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: x}}\n---\n{WITH_URL}")

    result = run("check", file)

    assert result.exit_code == 0
    assert result.output.splitlines()[0] == (
        f"{file}:2: OtherKind: a Namespace of v1 is not judged here"
    )


def test_the_same_name_in_two_namespaces_is_two_servers(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    there = (
        good("x")
        .replace("name: x", "name: x\n  namespace: b")
        .replace('allowedTools: ["*"]', "prefix: other")
    )
    file.write_text(f"{good('x')}---\n{there}")

    result = run("check", file)

    assert result.exit_code == 0
    assert result.output.splitlines()[1].split(": ")[1] == "b/x"


def test_json_tells_programs_the_same(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f"{good('a')}---\n{NAMED}spec:\n  url: x\n")

    result = run("check", "--json", file)

    assert result.exit_code == 1
    assert json.loads(result.output) == [
        {
            "file": str(file),
            "line": 1,
            "server": "a",
            "verdict": "Accepted",
            "prefix": "a",
            "complaints": [],
        },
        {
            "file": str(file),
            "line": 9,
            "server": "x",
            "verdict": "InvalidUrl",
            "prefix": None,
            "complaints": [
                {
                    "verdict": "InvalidUrl",
                    "field": "spec.url",
                    "line": 14,
                    "message": "spec.url must begin with http:// or https:// in lower case",
                }
            ],
        },
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n---\n"], ids=["empty", "a comment"])
def test_nothing_to_judge_is_no_success(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.yaml").write_text(text)

    result = run("check", tmp_path)

    assert result.exit_code == 1
    assert result.stderr == f"Error: no resource is in {tmp_path}\n"


@pytest.mark.parametrize("arguments", [[], ["nowhere.yaml"]], ids=["no file", "no such file"])
def test_a_call_without_a_file_is_a_usage_error(arguments: list[str]) -> None:
    assert run("check", *arguments).exit_code == 2


def test_what_a_file_holds_never_steers_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f'{WITH_URL}  "\\e[31mallowed\\a": 1\n')

    result = run("check", file)

    assert "\x1b" not in result.output
    assert "\x07" not in result.output


VIEW = "apiVersion: pointsman.dev/v1alpha1\nkind: McpView\nmetadata:\n  name: x\nspec:\n"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            "  tools: ['*']\n",
            ["5: view x: InvalidSpec: spec.servers must be given: it needs names or selector"],
            id="no servers",
        ),
        pytest.param(
            "  servers:\n    names: [a]\n    selector: {}\n",
            ["6: view x: InvalidSpec: spec.servers must hold exactly one of names and selector"],
            id="names and selector",
        ),
        pytest.param(
            "  servers: {names: [a]}\n  tools:\n    - a.b\n    - a*b\n",
            [
                (
                    "9: view x: InvalidSpec: spec.tools[1] must hold no * but one at the end, and"
                    " no control character"
                )
            ],
            id="a star within a pattern",
        ),
        pytest.param(
            "  servers:\n    selector:\n      matchLabels:\n        tier: 1\n",
            [
                (
                    "9: view x: InvalidSpec: spec.servers.selector.matchLabels[tier] must be a"
                    ' string (without quotes, 1 is no string: write "1")'
                )
            ],
            id="a label of a number",
        ),
        pytest.param(
            "  servers: {names: [a]}\n  selector: {}\n  url: http://x/\n  discover: List\n",
            [
                (
                    "7: view x: InvalidSpec: spec.selector is no field: selector belongs under"
                    " spec.servers"
                ),
                (
                    "8: view x: InvalidSpec: spec.url is no field: known here are discovery, names,"
                    " servers, tools"
                ),
                "9: view x: InvalidSpec: spec.discover is no field: did you mean discovery?",
            ],
            id="fields that a view does not have there",
        ),
    ],
)
def test_what_is_wrong_with_a_view_is_said_with_its_line(
    tmp_path: Path, spec: str, said: list[str]
) -> None:
    file = tmp_path / "view.yaml"
    file.write_text(f"{VIEW}{spec}")

    result = run("check", file)

    assert result.exit_code == 1
    assert result.output.splitlines() == [f"{file}:{line}" for line in said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(view("v"), "1 server", id="named"),
        pytest.param(
            view("v", "{names: [two, one]}"), "2 servers; not in these files: two", id="gone"
        ),
        pytest.param(
            view("v", "{selector: {matchLabels: {team: none}}}"),
            "0 servers; none of these files' servers is taken: see spec.servers",
            id="none selected",
        ),
        pytest.param(view("v", "{selector: {}}"), "1 server", id="all selected"),
        pytest.param(
            view("v", tools="[]"),
            '1 server; no tool named: list some in spec.tools, or ["*"]',
            id="no tool",
        ),
    ],
)
def test_a_sound_view_is_accepted_and_what_it_lacks_is_told(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "one.yaml").write_text(good("one"))
    file = tmp_path / "view.yaml"
    file.write_text(text)

    result = run("check", tmp_path)

    assert result.exit_code == 0
    assert result.output.splitlines()[1] == f"{file}:1: view v: Accepted ({said})"


def test_a_server_and_a_view_may_have_one_name_and_two_views_may_not(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join([good("one"), view("one"), view("one")]))

    result = run("check", file)

    assert result.exit_code == 1
    assert [line.split(": ", 1)[1] for line in result.output.splitlines()] == [
        "one: Accepted (prefix one)",
        "view one: Accepted (1 server)",
        f"view one: Duplicate: metadata.name describes view one again: {file}:9 does already",
    ]


def test_json_tells_programs_of_views_too(tmp_path: Path) -> None:
    file = tmp_path / "view.yaml"
    file.write_text(view("v", "{names: [b, a]}"))

    result = run("check", "--json", file)

    assert json.loads(result.output) == [
        {
            "file": str(file),
            "line": 1,
            "view": "v",
            "servers": ["a", "b"],
            "verdict": "Accepted",
            "complaints": [],
        }
    ]
