"""Write the real output of every example under its command, in the README and in docs/.

Usage: python scripts/examples.py [--check]

Output that holds a `…` line is left alone: someone chose what to show.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from documents import ANYTHING, Block, blocks_of, documents, examples_of, run_example  # noqa: E402


def main() -> int:
    """Rewrite the pages, or with --check only say which are out of date."""
    check = "--check" in sys.argv[1:]
    stale = [page for page in documents() if refresh(page, write=not check)]
    for page in stale:
        print(f"{'out of date' if check else 'rewritten'}: {page.relative_to(ROOT)}")
    return 1 if check and stale else 0


def refresh(page: Path, *, write: bool) -> bool:
    """Return whether the examples of `page` had to change."""
    before = page.read_text(encoding="utf-8")
    after = before
    for block in blocks_of(page):
        if block.language == "console":
            after = after.replace(block.text, rerun(block))
    if write and after != before:
        page.write_text(after, encoding="utf-8")
    return after != before


def rerun(block: Block) -> str:
    """Return the text of a console block with the output of today."""
    parts = []
    for example in examples_of(block.text):
        output = example.output
        chosen = any(line.strip() == ANYTHING for line in output.splitlines())
        if output and not chosen:
            real = run_example(example.command)
            printed = (real.stdout + real.stderr).strip("\n")
            output = "\n".join(line.rstrip() for line in printed.splitlines()) + "\n"
        parts.append(f"$ {example.command}\n{output}")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(main())
