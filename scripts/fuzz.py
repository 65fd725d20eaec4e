"""Feed broken inputs to every reader: only our own errors, no hang over 1 s, under 200 MB.

Each kind of input runs in a process of its own, with a limit on its memory. `--inputs` is for all
kinds together; the same seed feeds the same inputs. Ends with 1 and prints the input (as a file in
`--keep`) where a reader does anything but answer or refuse.
"""

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from fuzz_inputs import TINY, broken, broken_text, seeds

from caudal.calibrate.start_logs.comparison import compare_log
from caudal.calibrate.start_logs.reader import read_start_log
from caudal.facts.engines import engine
from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import CaudalError

# The part of all inputs that each kind gets, by how much there is to go wrong in it.
SHARES: Final = {
    "config.json": 0.22,
    "index.json": 0.12,
    "safetensors": 0.20,
    "gguf": 0.20,
    "start-up log": 0.14,
    "quantity": 0.12,
}
MOST_SECONDS: Final = 1.0
MOST_BYTES: Final = 200 * 10**6
_IN_MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - opens are 3 ms on a busy disk
_UNITS: Final = 1024 if sys.platform == "linux" else 1  # of ru_maxrss
Target = Callable[[bytes, Path], None]


class TookTooLongError(BaseException):
    """An input held a reader up; not an Exception, so that no reader catches it."""


def main() -> int:
    """Run every kind, or one of them as a child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=120_000, help="for all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--only", choices=SHARES, help="one kind, with all inputs")
    parser.add_argument("--together", action="store_true", help="one process for all kinds")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        wanted: dict[str, int] = json.loads(given.child)
        print(json.dumps([run(*each, seed=given.seed, keep=given.keep) for each in wanted.items()]))
        return 0
    shares = {given.only: 1.0} if given.only else SHARES
    counts = {kind: round(given.inputs * share) for kind, share in shares.items()}
    parts = [counts] if given.together else [{kind: count} for kind, count in counts.items()]
    figures = [each for part in parts for each in _child(part, seed=given.seed, keep=given.keep)]
    print(
        f"{'kind':14}{'inputs':>9}{'read':>9}{'refused':>9}{'slowest':>10}{'memory':>9}  failures"
    )
    for each in figures:
        print(
            f"{each['kind']:14}{each['inputs']:>9,}{each['read']:>9,}{each['refused']:>9,}"
            f"{each['slowest_s']:>9.3f}s{each['memory_mb']:>6.0f} MB  {each['failures']}"
        )
    print(f"{sum(int(each['inputs']) for each in figures):,} inputs")
    return 1 if any(each["failures"] for each in figures) else 0


def run(kind: str, inputs: int, *, seed: int, keep: Path) -> dict[str, object]:
    """Feed one kind of input; return the figures."""
    found: dict[str, object] = {"kind": kind, "inputs": inputs}
    read = refused = failures = 0
    slowest = 0.0
    signal.signal(signal.SIGVTALRM, _stop)
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as name:
        folder = Path(name)
        target = TARGETS[kind](folder)
        before = _peak_bytes()
        for raw in _inputs(kind, inputs, seed=seed):
            began = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
            try:
                target(raw, folder)
                read += 1
            except CaudalError as error:
                refused += 1
                failures += not error.remedy  # an error says what to do
            except BaseException:  # noqa: BLE001 - whatever it is, it is what is looked for
                failures += 1
                _keep(kind, raw, keep, failures)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            slowest = max(slowest, time.process_time() - began)
    memory = _peak_bytes()
    return found | {
        "read": read,
        "refused": refused,
        "failures": failures + (memory > MOST_BYTES),
        "slowest_s": slowest,
        "memory_mb": memory / 1e6,
        "start_mb": before / 1e6,
    }


def _child(counts: Mapping[str, int], *, seed: int, keep: Path) -> list[Mapping[str, float | str]]:
    """Run some kinds in a process whose address space ends where no reader needs to go."""
    done = subprocess.run(
        [
            *(sys.executable, __file__, "--child", json.dumps(counts)),
            *("--seed", str(seed), "--keep", str(keep)),
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=_limited,
    )
    if done.returncode:
        print(f"{', '.join(counts)}: the process ended with {done.returncode}", file=sys.stderr)
        nothing = {"read": 0, "refused": 0, "failures": 1}
        unknown = dict.fromkeys(("slowest_s", "memory_mb"), float("nan"))
        return [{"kind": k, "inputs": n, **nothing, **unknown} for k, n in counts.items()]
    figures = json.loads(done.stdout)
    assert isinstance(figures, list), "a child prints a list"
    return figures


def _limited() -> None:
    """Bound the child's address space: three times what it may hold, for libraries mapped."""
    resource.setrlimit(resource.RLIMIT_AS, (3 * MOST_BYTES, 3 * MOST_BYTES))


def _inputs(kind: str, count: int, *, seed: int) -> Iterator[bytes]:
    dice = random.Random(f"{seed}-{kind}")  # noqa: S311 - the same seed gives the same inputs
    sound = seeds(kind)
    yield from sound[:count]
    structured = kind.endswith("json")
    for _ in range(max(count - len(sound), 0)):
        raw = dice.choice(sound)
        if kind in {"start-up log", "quantity"}:
            yield broken_text(raw.decode(), dice).encode("utf-8", errors="surrogatepass")
        elif kind == "safetensors" and dice.random() < 0.5:
            length = int.from_bytes(raw[:8], "little")
            header = broken(raw[8 : 8 + length], sound, structured=True, dice=dice)
            yield len(header).to_bytes(8, "little") + header + raw[8 + length :]
        else:
            yield broken(raw, sound, structured=structured, dice=dice)


def _keep(kind: str, raw: bytes, keep: Path, number: int) -> None:
    traceback.print_exc()
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"{kind.replace(' ', '-')}-{number}"
    path.write_bytes(raw)
    print(f"{kind}: see {path}", file=sys.stderr)


def _stop(*_: object) -> None:
    raise TookTooLongError(f"more than {MOST_SECONDS:g} s")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNITS


def _fit(model: ModelSpec) -> None:
    """Ask for the memory of a model that was read, as the commands do."""
    stored = model.checkpoint.weight_format
    name = "llama.cpp" if weight_format(stored).is_gguf else "vllm"
    memory_needs(
        model,
        Serving(
            engine=engine(name),
            weight_format=weight_format(stored),
            kv_format=kv_format(model.checkpoint.kv_format or "bf16"),
        ),
    )
    memory_needs.__globals__["_memory_needs"].cache_clear()  # it would hold every model


def _as_file(name: str, *beside: tuple[str, bytes]) -> Callable[[Path], Target]:
    """Return a target that reads inputs as the file `name` of a model's folder."""

    def make(folder: Path) -> Target:
        for other, raw in beside:
            (folder / other).write_bytes(raw)

        def target(raw: bytes, folder: Path) -> None:
            (folder / name).write_bytes(raw)
            _fit(resolve_model(f"{folder}/"))

        return target

    return make


def _as_log(_: Path) -> Target:
    model = resolve_model("llama-3.1-8b")

    def target(raw: bytes, _: Path) -> None:
        compare_log(read_start_log(raw.decode("utf-8", errors="replace")), model)

    return target


def _as_quantity(_: Path) -> Target:
    parsers = [getattr(quantities, name) for name in dir(quantities) if name.startswith("parse_")]

    def target(raw: bytes, _: Path) -> None:
        text = raw.decode("utf-8", errors="replace")
        refusals = []
        for parse in parsers:
            try:
                parse(text)
            except CaudalError as error:
                refusals.append(error)
        if len(refusals) == len(parsers):
            raise refusals[0]

    return target


_TINY: Final = json.dumps(TINY).encode()
TARGETS: Final[Mapping[str, Callable[[Path], Target]]] = {
    "config.json": _as_file("config.json"),
    "index.json": _as_file("model.safetensors.index.json", ("config.json", _TINY)),
    "safetensors": _as_file("model.safetensors", ("config.json", _TINY)),
    "gguf": _as_file("model.gguf"),
    "start-up log": _as_log,
    "quantity": _as_quantity,
}

if __name__ == "__main__":
    sys.exit(main())
