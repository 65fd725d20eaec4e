"""Time the simulator: 10,000 to 10,000,000 requests, and the compiled engine against the plain one.

Each size runs in a process of its own, so that its memory is its own. Ends with 1 if a stated
budget of processor time is exceeded by half: a million requests in 2 s, a check of ten thousand in
50 ms, warm.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from typing import Final

from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.simulate.compiled import is_compiled, run_compiled
from caudal.simulate.deployment import Deployment, prepare
from caudal.simulate.run import simulate
from caudal.simulate.stepwise import run_stepwise
from caudal.traffic.arrivals import PoissonArrivals
from caudal.traffic.lengths import ExponentialLength, LognormalLength
from caudal.traffic.load import Load, sample_requests
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.vocabulary.units import Seconds, Tokens

TOLERANCE: Final = 1.5  # chosen: a shared machine is slower by less than this
BUDGETS_S: Final = {10_000: 0.05, 1_000_000: 2.0}
RATE: Final = 9.0  # requests per second and replica: four fifths of what one carries
SIZES: Final = (10_000, 100_000, 1_000_000, 10_000_000)
SLO: Final = Slo((Objective(Metric.TTFT, 0.95, Seconds(1.0)),))


def deployment(replicas: int) -> Deployment:
    """Return Llama 3.1 8B on one H100 a replica."""
    serving = Serving(
        engine=engine("vllm"),
        weight_format=weight_format("bf16"),
        kv_format=kv_format("bf16"),
        layout=Layout(),
        max_model_tokens=Tokens(16_384),
    )
    return Deployment(
        model=resolve_model("llama-3.1-8b"),
        serving=serving,
        gpu=gpu_catalogue().get("h100-sxm"),
        replicas=replicas,
    )


def load(replicas: int) -> Load:
    """Return prompts of 1,000 tokens and answers of 250, both widely spread."""
    return Load(
        arrivals=PoissonArrivals(RATE * replicas),
        prompt=LognormalLength(1000.0, 1.0, 8000),
        output=ExponentialLength(250.0, 4000),
    )


def measure(requests: int, replicas: int) -> dict[str, float]:
    """Return wall and processor seconds, warm, and the highest memory of a run with its judgement.

    One thread computes, so both are the same on an idle machine.
    """
    simulate(deployment(replicas), load(replicas), requests=1_000)
    wall, processor = [], []
    for _ in range(5 if requests <= 100_000 else 2 if requests <= 1_000_000 else 1):
        start, used = time.perf_counter(), time.process_time()
        run = simulate(deployment(replicas), load(replicas), requests=requests, slo=SLO)
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    assert run.judgement is not None, "the bench's load is carried"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall_s": min(wall), "processor_s": min(processor), "memory_mib": memory}


def against_plain(requests: int = 2_000) -> None:
    """Print how much faster the compiled engine is, and whether both agree."""
    asked = load(1)
    setup = prepare(deployment(1), mean_tokens=asked.mean_tokens).setup
    table = sample_requests(asked, requests, seed=7)
    start = time.process_time()
    plain = run_stepwise(setup, table)
    middle = time.process_time()
    compiled = run_compiled(setup, table)
    end = time.process_time()
    same = plain.records.tobytes() == compiled.records.tobytes()
    print(
        f"plain engine: {requests:,} requests ({plain.steps:,} steps) in {middle - start:.2f} s, "
        f"compiled {end - middle:.4f} s: {(middle - start) / (end - middle):,.0f} times; "
        f"{'the same bytes' if same else 'DIFFERENT RECORDS'}"
    )


def saturated_check() -> None:
    """Print what a check costs whose queue grows, the search for the limit included."""
    start = time.perf_counter()
    run = simulate(deployment(1), replace(load(1), arrivals=PoissonArrivals(40.0)), requests=10_000)
    elapsed = time.perf_counter() - start
    print(f"saturated: {elapsed * 1e3:.0f} ms, at most {run.sustainable_rate:.3g} requests/s")


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, help="requests and replicas of one run, JSON")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest size (default 10^7)")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return 0
    if not is_compiled():
        print("no compiled engine: install Caudal where there is a C compiler")
        return 1
    too_slow = []
    print(
        f"{'requests':>12} {'replicas':>8} {'wall [s]':>9} {'processor [s]':>13} "
        f"{'us/request':>10} {'memory [MiB]':>12}"
    )
    for replicas in (1, 8):
        for requests in (size for size in SIZES if size <= arguments.most):
            command = [sys.executable, __file__, "--one", str(requests), str(replicas)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            seconds = found["processor_s"]
            print(
                f"{requests:>12,} {replicas:>8} {found['wall_s']:>9.3f} {seconds:>13.3f} "
                f"{seconds / requests * 1e6:>10.2f} {found['memory_mib']:>12.0f}"
            )
            if seconds > BUDGETS_S.get(requests, float("inf")) * TOLERANCE:
                too_slow.append(f"{requests:,} requests on {replicas}")
    saturated_check()
    against_plain()
    if too_slow:
        print(f"over budget: {'; '.join(too_slow)}")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
