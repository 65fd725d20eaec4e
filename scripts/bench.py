"""Time whole commands, as a user waits for them, against a Python that does nothing.

Prints medians of several runs, their ratio to `python -c pass`, and the stated budgets; ends with
1 if a median exceeds its budget by half, which noise alone does not explain.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CAUDAL: Final = str(Path(sys.executable).parent / "caudal")
TOLERANCE: Final = 1.5  # chosen: a shared machine is slower by less than this
FIT: Final = (
    *("fit", "llama-3.1-70b", "--gpu", "H100", "--precision", "fp8"),
    *("--context", "8192", "--concurrency", "32"),
)
HEADLINE: Final = (
    *("plan", "llama-3.1-70b", "--input", "2000", "--output", "300", "--rate", "5/s"),
    *("--ttft-p95", "1s", "--tpot-p95", "50ms"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One command line and how long it may take; None: no budget of ours."""

    name: str
    command: tuple[str, ...]
    budget_s: float | None


CASES: Final = (
    Case("python -c pass", (sys.executable, "-c", "pass"), None),
    Case("caudal --help", (CAUDAL, "--help"), 0.25),
    Case(
        "caudal fit",
        (CAUDAL, *FIT),
        0.25,
    ),
    Case("caudal gpus", (CAUDAL, "gpus", "--fp8"), None),
    Case("caudal models", (CAUDAL, "models", "--family", "qwen"), None),
    Case("caudal plan", (CAUDAL, *HEADLINE), 1.0),
)


def seconds_of(command: tuple[str, ...], *, folder: str) -> float:
    """Return the wall time of one whole process; a bad exit code other than "no" ends the bench."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode not in {0, 4}:  # 4: an answer, and the answer is no
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.decode()}")
    return elapsed


def candidates(*, folder: str) -> int:
    """Return how many candidates the headline plan considers."""
    done = subprocess.run(
        (CAUDAL, *HEADLINE, "--json"), cwd=folder, capture_output=True, check=True
    )
    considered = json.loads(done.stdout)["considered"]["candidates"]
    assert isinstance(considered, int), f"candidates should be a number: {considered!r}"
    return considered


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="runs of each command (default 9)")
    runs = parser.parse_args().runs
    too_slow = []
    medians: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        print(f"median of {runs} runs, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
        print(f"{'command':<16} {'median [s]':>10} {'best [s]':>9} {'ratio':>6} {'budget [s]':>10}")
        for case in CASES:
            seconds_of(case.command, folder=folder)  # fills the disk cache and writes bytecode
            times = [seconds_of(case.command, folder=folder) for _ in range(runs)]
            median = medians[case.name] = statistics.median(times)
            ratio = median / medians[CASES[0].name]
            budget = f"{case.budget_s:.2f}" if case.budget_s else ""
            print(f"{case.name:<16} {median:>10.3f} {min(times):>9.3f} {ratio:>6.1f} {budget:>10}")
            if case.budget_s and median > case.budget_s * TOLERANCE:
                too_slow.append(case.name)
        total = candidates(folder=folder)
    plan_s = medians["caudal plan"]
    net_s = max(plan_s - medians["caudal --help"], 1e-3)
    print(
        f"{total:,} candidates considered: {total / plan_s:,.0f}/s of the whole process, "
        f"{total / net_s:,.0f}/s without the start of the command line"
    )
    if too_slow:
        print(f"over budget: {', '.join(too_slow)}")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
