"""What a person should know about one row before renting it."""

from caudal.facts.precision import Support
from caudal.offers.offer import Age, Term
from caudal.plan.candidate import Candidate
from caudal.plan.report import Memory, Operation, Price

FOUR_BITS = 4.75  # chosen: formats up to this many bits a weight, scales included, count as 4-bit


def row_warnings(
    candidate: Candidate, price: Price, memory: Memory, operation: Operation
) -> tuple[str, ...]:
    """Return short sentences, the most important first."""
    serving, offer = candidate.shape.serving, price.offer
    said = []
    if price.age is not Age.FRESH:
        said.append(f"price is {price.age_days} days old")
    said += [
        f"{latency.label} may miss its bound: the careful end of the range is above it"
        for latency in operation.latencies
        if latency.at_most_s is not None and latency.seconds.high > latency.at_most_s
    ]
    if offer.term is Term.SPOT:
        said.append("spot: may be taken away, so not for answers that people wait for")
    if candidate.support.support is Support.WEIGHT_ONLY and serving.weight_format.bits < 16:
        said.append(
            f"{serving.weight_format.name} is stored only, products run in 16 bit: "
            f"{candidate.support.reason}"
        )
    if serving.layout.tensor > 1 and not candidate.gpu.has_fast_link:
        said.append(f"{serving.layout} over {candidate.gpu.interconnect}, without NVLink")
    if serving.weight_format.bytes_per_weight * 8 <= FOUR_BITS:
        said.append("4-bit weights cost some quality: test with your own prompts")
    if memory.concurrency.low < candidate.batch:
        said.append("memory is tight: the careful end of the estimate holds fewer requests")
    if price.gpus_paid > candidate.gpus:
        said.append(f"{price.gpus_paid} GPUs are paid, {candidate.gpus} serve")
    if price.full.unknown:
        said.append(f"not known, so not in the price: {', '.join(price.full.unknown)}")
    if offer.note:
        said.append(offer.note)
    return tuple(said)
