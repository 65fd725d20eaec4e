from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from caudal.offers.offer import Term
from caudal.plan.cost import full_price
from caudal.plan.redundancy import at_least, failure_rates, redundancies
from caudal.plan.spot_tier import SpotRisk, break_even_life_s, mix_of
from caudal.plan.use import Use, rent_terms
from caudal.vocabulary.units import GB, Bytes, Seconds
from offer_cases import PLAIN

HOURS = st.decimals("0.25", 24, places=2)
DAYS = st.decimals("0.5", 60, places=1)
TERMS = st.sampled_from(
    [
        (Term.HOURLY, Decimal(1)),
        (Term.SPOT, Decimal(1)),
        (Term.WEEKLY, Decimal(168)),
        (Term.MONTHLY, Decimal(720)),
    ]
)


@given(hours=HOURS, days=DAYS, more=st.decimals(0, 10, places=1), term=TERMS)
def test_more_days_never_cost_less(
    hours: Decimal, days: Decimal, more: Decimal, term: tuple[Term, Decimal]
) -> None:
    offer = replace(PLAIN, provider="aws", term=term[0], hours_per_unit=term[1])

    less = full_price(offer, Use(hours_per_day=hours, days=days)).usd
    longer = full_price(offer, Use(hours_per_day=hours, days=days + more)).usd

    assert less <= longer + Decimal("1e-9")


@given(
    out=st.integers(0, 10**15),
    more=st.integers(0, 10**14),
    instances=st.integers(1, 9),
)
def test_more_data_out_never_costs_less(out: int, more: int, instances: int) -> None:
    offer = replace(PLAIN, provider="aws")

    less = full_price(offer, Use(data_out_bytes=Bytes(out)), instances=instances).usd
    longer = full_price(offer, Use(data_out_bytes=Bytes(out + more)), instances=instances).usd

    assert less <= longer + Decimal("1e-9")


@given(
    hours=HOURS, days=DAYS, starts=st.integers(1, 90), unit=st.sampled_from([1, 60, 3600, 86400])
)
def test_rounding_never_takes_less_than_was_used(
    hours: Decimal, days: Decimal, starts: int, unit: int
) -> None:
    use = Use(hours_per_day=hours, days=days, starts=starts)
    terms = replace(rent_terms(PLAIN), billing_unit_s=Seconds(float(unit)), minimum_s=Seconds(60.0))

    price = full_price(PLAIN, use, terms=terms)

    slack = Decimal("1e-9")
    assert price.billed_hours >= price.used_hours - slack
    assert price.billed_hours <= price.used_hours + starts * Decimal(unit + 60) / 3600 + slack


@given(instances=st.integers(1, 50), hours=HOURS, disk=st.integers(0, 5000))
def test_instances_are_paid_in_proportion(instances: int, hours: Decimal, disk: int) -> None:
    use = Use(hours_per_day=hours, disk_bytes=Bytes(disk * GB))
    offer = replace(PLAIN, storage_usd_per_byte_hour=Decimal("0.0001") / GB)

    one = full_price(offer, use).usd
    all_of_them = full_price(offer, use, instances=instances).usd

    assert abs(all_of_them - instances * one) < Decimal("1e-6")


@given(needed=st.integers(1, 20), spares=st.integers(0, 5), up=st.floats(0, 1))
def test_a_spare_never_makes_it_worse(needed: int, spares: int, up: float) -> None:
    without = at_least(needed, needed + spares, up=up)
    with_one = at_least(needed, needed + spares + 1, up=up)

    assert -1e-9 <= without <= with_one + 1e-9 <= 1 + 1e-6


@given(needed=st.integers(1, 40), gpus=st.integers(1, 8))
def test_spares_cost_and_two_regions_cost_double(needed: int, gpus: int) -> None:
    rows = redundancies(needed, failure_rates(gpus), usd_each=10.0)

    assert [row.usd for row in rows] == [
        needed * 10, (needed + 1) * 10, (needed + 2) * 10, needed * 20,
    ]  # fmt: skip
    assert rows[0].availability <= rows[1].availability <= rows[2].availability


@given(
    life=st.floats(3600, 1e6),
    restart=st.floats(0, 3000),
    spot=st.floats(0.1, 0.99),
)
def test_spot_breaks_even_where_kept_work_costs_as_much(
    life: float, restart: float, spot: float
) -> None:
    risk = SpotRisk(life_s=Seconds(life), restart_s=Seconds(restart))
    even = break_even_life_s(on_demand_usd_per_hour=1.0, spot_usd_per_hour=spot, risk=risk)

    assert even is not None
    if even > restart > 0:
        useful = SpotRisk(life_s=Seconds(even), restart_s=Seconds(restart)).useful_share
        assert abs(spot / useful - 1.0) < 1e-6


@given(share=st.floats(0, 1), work=st.floats(0.01, 50))
def test_free_spot_instances_never_cost_more_than_on_demand(share: float, work: float) -> None:
    mix = mix_of(
        batch_share=share,
        instances_of_work=work,
        on_demand_usd_per_hour=2.0,
        spot_usd_per_hour=0.0,
        risk=SpotRisk(),
    )

    assert mix is not None
    assert mix.saves_usd_per_month >= -1e-6
