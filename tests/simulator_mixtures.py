"""Deployments with every feature at once, drawn from a seed."""

from dataclasses import dataclass

import numpy as np

from caudal.simulate.setup import (
    Control,
    EngineSetup,
    PoolSetup,
    RouterKind,
    ScalingSetup,
)
from caudal.traffic.requests import RequestTable
from simulator_cases import MILLISECOND, conversations, outages, pool, requests, setup, step_times


@dataclass(frozen=True, slots=True)
class Dice:
    """One generator, and what is drawn from it."""

    rng: np.random.Generator

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def one_of(self, *values: float) -> float:
        return values[self.whole(0, len(values))]

    def often(self, share: float) -> bool:
        return bool(self.rng.random() < share)


def mixture(seed: int) -> tuple[EngineSetup, RequestTable]:
    """Return a deployment and its requests; the same ones for the same seed."""
    dice = Dice(np.random.default_rng(seed))
    talks = dice.often(0.5)
    table = _talks(dice) if talks else _stream(dice)
    replicas = dice.whole(1, 4)
    apart = dice.often(0.3)
    pools = (_pool(dice), _pool(dice)) if apart else (_pool(dice),)
    placed = (0,) * replicas + ((1,) * dice.whole(1, 3) if apart else ())
    scaling = _scaling(dice, replicas) if dice.often(0.3) else None
    made = setup(
        *pools,
        replicas=placed,
        up=None if scaling else tuple(at == 0 or dice.often(0.8) for at in range(len(placed))),
        router=RouterKind(dice.whole(0, 3)),
        users=0 if talks else int(dice.one_of(0, 0, 7)),
        transfer=int(dice.one_of(0, 5)) * MILLISECOND,
        scaling=scaling,
        controls=_losses(dice, len(placed)) if dice.often(0.5) else (),
        nodes=0 if table.prefixes is None else table.prefixes.nodes,
    )
    return made, table


def _talks(dice: Dice) -> RequestTable:
    return conversations(
        dice.whole(5, 40),
        turns=dice.whole(1, 5),
        seed=dice.whole(0, 2**30),
        gap_ms=dice.one_of(3, 20, 80),
    )


def _stream(dice: Dice) -> RequestTable:
    return requests(
        dice.whole(20, 120),
        seed=dice.whole(0, 2**30),
        gap_ms=dice.one_of(1, 5, 20, 80),
        prompt=int(dice.one_of(5, 40, 150)),
        output=int(dice.one_of(1, 5, 40)),
        think_ms=dice.one_of(0, 20),
    )


def _pool(dice: Dice) -> PoolSetup:
    sequences = dice.whole(1, 12)
    budget = dice.whole(sequences, sequences + 80)
    block = int(dice.one_of(1, 3, 4, 16))
    return pool(
        sequences=sequences,
        budget=budget,
        block_tokens=block,
        blocks=dice.whole(max(8 // block, 2), 400 // block + 3),
        longest=int(dice.one_of(100, 10_000)),
        prefill_first=dice.often(0.4),
        reserve_q10=int(dice.one_of(0, 100, 700)),
        prefix_cache=dice.often(0.8),
        times=step_times(
            sequences=sequences,
            budget=budget,
            token_ms=dice.one_of(0.01, 0.5, 20),
            context_ps=int(dice.one_of(0, 30_000, 10**8)),
            decode_ms=dice.one_of(0.1, 10),
        ),
    )


def _scaling(dice: Dice, replicas: int) -> ScalingSetup:
    return ScalingSetup(
        interval=dice.whole(5, 60) * MILLISECOND,
        target=dice.whole(1, 6),
        least=dice.whole(1, replicas + 1),
        most=replicas,
        start=dice.whole(1, 100) * MILLISECOND,
        window=dice.whole(0, 200) * MILLISECOND,
    )


def _losses(dice: Dice, replicas: int) -> tuple[Control, ...]:
    times = sorted(dice.whole(1, 2000) for _ in range(dice.whole(1, 5)))
    return outages(times, replica=dice.whole(0, replicas), notice=dice.often(0.5))
