import numpy as np
import pytest

from caudal.traffic.arrivals import (
    ArrivalClock,
    Arrivals,
    BurstyArrivals,
    DailyArrivals,
    PoissonArrivals,
    UserArrivals,
    at_rate,
)
from caudal.traffic.conversations import Conversation
from caudal.traffic.lengths import (
    EmpiricalLength,
    ExponentialLength,
    FixedLength,
    Length,
    LognormalLength,
    UniformLength,
    sample_lengths,
)
from caudal.traffic.load import Load, request_parts, sample_requests
from caudal.traffic.trace import read_trace
from caudal.vocabulary.errors import ContradictoryOptionsError

COUNT = 100_000
HOURS = (1.0,) * 12 + (3.0,) * 12
TRACE = read_trace(["arrival,input,output", "0,10,5", "1,20,7", "2,30,9"], name="trace")


@pytest.mark.parametrize(
    ("length", "mean", "deviation"),
    [
        (FixedLength(300), 300.0, 0.0),
        (UniformLength(100, 500), 300.0, 115.8),
        (LognormalLength(300, 0.5), 300.0, 150.0),
        (ExponentialLength(300), 300.0, 299.5),
        (EmpiricalLength((100, 500)), 300.0, 200.0),
    ],
    ids=["fixed", "uniform", "lognormal", "exponential", "empirical"],
)
def test_lengths_have_the_mean_and_deviation_asked_for(
    length: Length, mean: float, deviation: float
) -> None:
    drawn = sample_lengths(length, COUNT, np.random.default_rng(1))

    assert mean == pytest.approx(length.mean)
    assert mean == pytest.approx(drawn.mean(), rel=0.01)
    assert deviation == pytest.approx(drawn.std(), rel=0.02)
    assert drawn.min() >= 1


def test_lengths_end_at_the_longest() -> None:
    drawn = sample_lengths(LognormalLength(300, 2.0, most=1000), COUNT, np.random.default_rng(1))

    assert drawn.max() == 1000


@pytest.mark.parametrize(
    ("arrivals", "variation"),
    [
        (PoissonArrivals(5.0), 1.0),
        (BurstyArrivals(5.0, 1.0), 1.0),
        (BurstyArrivals(5.0, 3.0), 3.0),
        (BurstyArrivals(5.0, 0.5), 0.5),
    ],
)
def test_gaps_have_the_mean_and_variation_asked_for(
    arrivals: PoissonArrivals | BurstyArrivals, variation: float
) -> None:
    times = ArrivalClock(arrivals, np.random.default_rng(1)).next(COUNT)
    gaps = np.diff(times)

    assert gaps.mean() == pytest.approx(0.2, rel=0.03)
    assert variation == pytest.approx(gaps.std() / gaps.mean(), rel=0.03)


def test_a_day_follows_its_hours_and_keeps_its_mean() -> None:
    times = ArrivalClock(DailyArrivals(2.0, HOURS), np.random.default_rng(1)).next(2 * 172_800)
    hour = (times / 3600 % 24).astype(int)
    counts = np.bincount(hour, minlength=24)

    assert times[-1] == pytest.approx(2 * 86_400, rel=0.01)
    assert counts[15] / counts[5] == pytest.approx(3.0, rel=0.05)


def test_parts_continue_each_other() -> None:
    whole = ArrivalClock(PoissonArrivals(5.0), np.random.default_rng(1)).next(10)
    clock = ArrivalClock(PoissonArrivals(5.0), np.random.default_rng(1))

    parts = np.concatenate([clock.next(4), clock.next(0), clock.next(6)])

    np.testing.assert_allclose(whole, parts, rtol=1e-12)


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        (PoissonArrivals(1.0), PoissonArrivals(9.0)),
        (BurstyArrivals(1.0, 2.0), BurstyArrivals(9.0, 2.0)),
        (DailyArrivals(1.0, HOURS), DailyArrivals(9.0, HOURS)),
        (UserArrivals(1, 2.0), UserArrivals(9, 2.0)),
    ],
)
def test_a_pattern_at_another_rate_is_the_same_pattern(
    arrivals: Arrivals, expected: Arrivals
) -> None:
    assert expected == at_rate(arrivals, 9.0)


def load(arrivals: Arrivals, *, conversation: Conversation | None = None) -> Load:
    return Load(
        arrivals=arrivals,
        prompt=FixedLength(100),
        output=FixedLength(50),
        conversation=conversation,
    )


def test_another_rate_leaves_the_lengths_and_scales_the_times() -> None:
    slow = Load(
        arrivals=PoissonArrivals(1.0), prompt=ExponentialLength(100), output=ExponentialLength(50)
    )

    first = sample_requests(slow, 100, seed=7)
    second = sample_requests(slow.at(4.0), 100, seed=7)

    np.testing.assert_array_equal(first.prompt, second.prompt)
    np.testing.assert_array_equal(first.output, second.output)
    np.testing.assert_allclose(first.arrival / 4, second.arrival, atol=1)


def test_a_load_comes_in_parts_as_in_one_piece() -> None:
    asked = load(PoissonArrivals(3.0))

    parts = list(request_parts(asked, 100, seed=7, part=30))

    assert [30, 30, 30, 10] == [len(part) for part in parts]
    whole = sample_requests(asked, 100, seed=7)
    np.testing.assert_allclose(
        whole.arrival, np.concatenate([part.arrival for part in parts]), atol=1
    )


def test_users_have_no_rate_and_pause_between_requests() -> None:
    asked = load(UserArrivals(10, think_s=2.0))

    table = sample_requests(asked, 10_000, seed=7)

    assert asked.rate is None
    assert asked.users == 10
    assert table.think.mean() * 1e-12 == pytest.approx(2.0, rel=0.05)


def test_a_turn_holds_everything_said_before() -> None:
    talk = Conversation(turns=3, think_s=5.0, prefix_tokens=1000, prefixes=2)
    asked = load(PoissonArrivals(3.0), conversation=talk)

    table = sample_requests(asked, 7, seed=7)

    assert len(table) == 9  # whole conversations
    assert table.prompt.tolist() == [1100, 1250, 1400] * 3
    assert table.following is not None
    assert table.following.tolist() == [1, 2, -1, 4, 5, -1, 7, 8, -1]
    assert (table.arrival >= 0).tolist() == [True, False, False] * 3
    assert asked.mean_tokens == (1250.0, 50.0)
    assert table.prefixes is not None
    first, ends = table.prefixes.first, table.prefixes.node_end
    assert ends[first[2] : first[3]].tolist() == [1000, 1150, 1300, 1450]


def test_conversations_come_at_the_rate_of_their_requests() -> None:
    asked = load(PoissonArrivals(10.0), conversation=Conversation(turns=5))

    table = sample_requests(asked, 50_000, seed=7)

    assert table.arrival.max() * 1e-12 == pytest.approx(5_000, rel=0.05)


def test_users_hold_no_conversations() -> None:
    asked = load(UserArrivals(3), conversation=Conversation(turns=2))

    with pytest.raises(ContradictoryOptionsError, match="closed loop"):
        sample_requests(asked, 10, seed=7)


def test_a_trace_is_a_load_of_its_own_rate() -> None:
    asked = Load(trace=TRACE)

    assert asked.rate == 1.0
    assert asked.at(4.0).rate == 4.0
    assert asked.mean_tokens == (20.0, 7.0)
    assert len(sample_requests(asked, 2, seed=7)) == 2
    assert not asked.comes_in_parts
