"""The plan's last check: its candidate under simulated load, in tens of milliseconds."""

from dataclasses import replace

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.serving import Serving
from caudal.simulate.compiled import is_compiled
from caudal.simulate.deployment import Deployment
from caudal.simulate.run import REQUESTS, SEED, Simulation, simulate
from caudal.traffic.arrivals import Arrivals, PoissonArrivals, UserArrivals
from caudal.traffic.lengths import FixedLength, Length, LognormalLength
from caudal.traffic.load import Load
from caudal.traffic.slo import Slo
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.units import Tokens

# Without a compiled engine a request costs a hundred times as much: fewer are simulated.
PLAIN_REQUESTS = 1_000
# Chosen: cutting a lognormal of variation 1 at 8 means takes 0.4 % off its mean, at 4 means 3 %. A
# longer tail would try a server that nobody sized for it: single requests as large as its cache.
# A context closer than 4 means leaves no room to vary, and lengths are taken as fixed.
_USUAL_ROOM = 8
_ROOM_TO_VARY = 4


def verify_plan(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    replicas: int,
    workload: Workload,
    slo: Slo,
    requests: int | None = None,
    seed: int = SEED,
    variation: float = 1.0,
) -> Simulation:
    """Return the simulated percentiles of a plan's row; `saturated` where its queue grows.

    Lengths are lognormal with the workload's means and `variation` (deviation over mean), 0 for
    fixed ones. A batch workload is a closed loop that keeps every slot busy.

    Raises:
        DoesNotFitError: the model leaves no room for a request.
        NoSpeedError: the GPU's maker publishes no rate that the speed formulas need.
    """
    limit = _longest(model, workload)
    room = limit / workload.sequence_tokens
    if room < _ROOM_TO_VARY:
        variation = 0.0
    deployment = Deployment(
        model=model,
        serving=replace(serving, max_model_tokens=limit),
        gpu=gpu,
        replicas=replicas,
    )
    load = Load(
        arrivals=_arrivals(workload, serving.on(gpu), replicas),
        prompt=_length(workload.input_tokens, variation, room),
        output=_length(workload.output_tokens, variation, room),
    )
    count = requests or (REQUESTS if is_compiled() else PLAIN_REQUESTS)
    return simulate(deployment, load, requests=count, seed=seed, slo=slo)


def _arrivals(workload: Workload, serving: Serving, replicas: int) -> Arrivals:
    match workload.mode:
        case Mode.OPEN:
            assert workload.rate is not None, "an open workload has a rate"
            return PoissonArrivals(workload.rate)
        case Mode.CLOSED:
            assert workload.users is not None, "a closed workload has users"
            return UserArrivals(workload.users)
        case Mode.BATCH:
            return UserArrivals(serving.sequences * replicas)


def _longest(model: ModelSpec, workload: Workload) -> Tokens:
    """Return the context that the server is started with."""
    asked = workload.context_tokens or _USUAL_ROOM * workload.sequence_tokens
    return Tokens(max(min(asked, model.max_context_tokens), workload.sequence_tokens))


def _length(mean: int, variation: float, room: float) -> Length:
    if variation == 0:
        return FixedLength(mean)
    return LognormalLength(float(mean), variation, int(mean * room))
