"""Print every figure of the five seed pages with ours beside it.

Usage: python scripts/seed_table.py [--differing]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from golden.seeds.our_prices import PRICES
from golden.seeds.our_sizes import SIZES
from golden.seeds.seed_figures import Figure, agrees, compute, seed_figures, shown

COLUMNS = "{:<8} {:<13} {:<58} {:>13} {:>13} {:<14} {}"


def main() -> None:
    """Print the table, one line a figure, then how many agree."""
    only_differing = "--differing" in sys.argv[1:]
    figures = seed_figures()
    print(COLUMNS.format("seed", "section", "what", "printed", "ours", "unit", "verdict"))
    for figure in figures:
        if figure.differs or not only_differing:
            print(line(figure).rstrip())
    differing = sum(figure.differs for figure in figures)
    worked = sum("worked" in figure.section for figure in figures)
    print(
        f"\n{len(figures)} figures: {len(figures) - differing} agree, {differing} differ; "
        f"{worked} of them are worked by hand where a page gives a method and no figures."
    )


def line(figure: Figure) -> str:
    """Return one figure as a line of the table."""
    value = compute(figure, {**SIZES, **PRICES})
    right = figure.differs or agrees(value, figure.printed, figure.rule)
    verdict = "agrees" if right and not figure.differs else "DIFFERS" if right else "WRONG"
    return COLUMNS.format(
        figure.seed,
        figure.section,
        figure.what,
        figure.printed,
        shown(value, figure.rule),
        figure.unit,
        f"{verdict}, {figure.rule}{'. ' + figure.why if figure.why else ''}",
    )


if __name__ == "__main__":
    main()
