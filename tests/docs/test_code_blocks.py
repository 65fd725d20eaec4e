import json
import re
import tomllib

import pytest

from documents import ROOT, Block, all_blocks, examples_of, matches, run_example

LANGUAGES = {"console", "json", "python", "sh", "text", "toml", "csv"}


@pytest.mark.parametrize("block", all_blocks(), ids=str)
def test_every_block_says_its_language(block: Block) -> None:
    assert block.language in LANGUAGES


@pytest.mark.parametrize("block", all_blocks("console"), ids=str)
def test_every_command_prints_what_its_page_shows(block: Block) -> None:
    examples = examples_of(block.text)

    assert examples, "a console block without a command"
    for example in examples:
        real = run_example(example.command)
        assert real.returncode == 0 or example.output, real.stderr
        if example.output:
            assert matches(example.output, real.stdout + real.stderr), (
                f"$ {example.command}\n{real.stdout}{real.stderr}\n"
                "`make examples` writes the real output into the pages"
            )


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_every_python_block_runs(block: Block) -> None:
    exec(compile(block.text, str(block), "exec"), {"__name__": "example"})  # noqa: S102 - ours


@pytest.mark.parametrize("block", all_blocks("toml"), ids=str)
def test_every_toml_block_parses(block: Block) -> None:
    assert tomllib.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_every_json_block_parses(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("sh"), ids=str)
def test_every_make_target_that_is_shown_exists(block: Block) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for target in re.findall(r"^make ([a-z]+)", block.text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"


@pytest.mark.parametrize(
    ("shown", "real", "expected"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("…\nc\n", "a\nb\nc\n", True),
        ("a\n…\nd\n", "a\nb\nc\n", False),
        ("a   \n", "a\n", True),
    ],
)
def test_an_ellipsis_stands_for_any_lines(shown: str, real: str, *, expected: bool) -> None:
    assert matches(shown, real) is expected
