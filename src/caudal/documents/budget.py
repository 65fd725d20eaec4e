"""What a deployment will cost and what moves that: from what was asked to the document."""

from dataclasses import dataclass, field, replace
from datetime import date

from caudal.documents.models import ModelSummary
from caudal.documents.offers import check_providers
from caudal.facts.currency import exchange_rates
from caudal.facts.engines import usual_engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.offers.book import OfferBook
from caudal.offers.query import OfferQuery
from caudal.plan.break_even import BreakEven
from caudal.plan.budget_answer import plan_budget
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.cost import FullPrice
from caudal.plan.currency import OtherMoney, in_currency
from caudal.plan.not_to_rent import Advice
from caudal.plan.question import Traffic, Wishes, build_question
from caudal.plan.redundancy import FailureRates, Redundancy
from caudal.plan.report import PlanRow
from caudal.plan.spot_tier import Mix, SpotRisk
from caudal.plan.token_money import Day, TokenPrices
from caudal.plan.tornado import Tornado
from caudal.plan.use import Use
from caudal.traffic.slo import Objective, Slo
from caudal.traffic.workload import Workload
from caudal.vocabulary.money import Usd, UsdPerMonth
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """The bill over the lengths of time that people budget by."""

    usd: Usd  # in the period asked about
    usd_per_day: Usd
    usd_per_month: UsdPerMonth  # as the offer counts months
    usd_per_mean_month: UsdPerMonth  # 730 h
    usd_per_year: Usd
    other: OtherMoney | None  # the period's bill in the currency asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDocument:
    """From tokens to money, item by item; what moves it, and when not to rent."""

    model: ModelSummary
    workload: Workload
    slo: Slo
    use: Use
    row: PlanRow  # of the plan
    replicas: int
    bill: FullPrice
    money: Money
    day: Day
    utilisation: float  # of the GPU-hours that are rented
    tokens: TokenPrices
    tornado: Tornado
    tornado_sentence: str
    failures: FailureRates
    redundancies: tuple[Redundancy, ...]
    redundancy_sentence: str
    mix: Mix | None
    mix_curve: tuple[Mix, ...]
    break_evens: tuple[BreakEven, ...]
    advice: tuple[Advice, ...]
    assumptions: tuple[str, ...]
    not_known: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAsked:
    """A question about money as a door understood it."""

    model: ModelSpec
    traffic: Traffic
    objectives: tuple[Objective, ...] = ()
    wishes: Wishes = field(default_factory=Wishes)  # its `offers` are those of `query`
    query: OfferQuery = field(default_factory=OfferQuery)
    money: BudgetWishes = field(default_factory=BudgetWishes)
    currency: str | None = None  # to show the bill in beside dollars


def stated_money(
    *,
    row: int = 1,
    utilisation: float | None = None,
    batch_share: float | None = None,
    cached_share: float | None = None,
    spot_life: Seconds | None = None,
    restart_time: Seconds | None = None,
    drain_time: Seconds | None = None,
    starts_per_day: float = 8.0,
    failure_time: Seconds | None = None,
    repair_time: Seconds | None = None,
    region_availability: float | None = None,
) -> BudgetWishes:
    """Return the wishes as stated; what was not said is as usual, and listed as assumed."""
    usual = SpotRisk()
    return BudgetWishes(
        row=row,
        utilisation=1.0 if utilisation is None else utilisation,
        risk=SpotRisk(
            life_s=usual.life_s if spot_life is None else spot_life,
            restart_s=usual.restart_s if restart_time is None else restart_time,
            drain_s=usual.drain_s if drain_time is None else drain_time,
        ),
        batch_share=batch_share or 0.0,
        cached_share=cached_share or 0.0,
        starts_per_day=starts_per_day,
        failure_s=failure_time,
        repair_s=repair_time,
        region_availability=region_availability,
    )


def answer_budget(
    asked: BudgetAsked, *, book: OfferBook, today: date
) -> tuple[BudgetReport, BudgetDocument]:
    """Return the report, which can be drawn, and the document that says the same.

    Raises:
        InfeasibleError: nothing serves as asked.
        ContradictoryOptionsError, InvalidQuantityError: see `build_question`.
        UnknownCurrencyError: there is no rate of the currency to show.
    """
    check_providers(book, asked.query)
    question = build_question(
        asked.model,
        asked.traffic,
        asked.objectives,
        replace(asked.wishes, offers=asked.query),
        all_gpus=gpu_catalogue().all,
        usual_engine=usual_engine(asked.model),
    )
    report = plan_budget(
        question,
        asked.money,
        book=book,
        all_gpus=gpu_catalogue().all,
        today=today,
    )
    return report, _document(report, asked, today)


def _document(report: BudgetReport, asked: BudgetAsked, today: date) -> BudgetDocument:
    bill, position = report.bill, report.bill.position
    return BudgetDocument(
        model=ModelSummary.of(position.model),
        workload=position.workload,
        slo=position.slo,
        use=position.use,
        row=report.row,
        replicas=bill.candidate.replicas,
        bill=bill.price,
        money=_money(bill.price, asked, today),
        day=bill.day,
        utilisation=bill.day.utilisation,
        tokens=bill.tokens,
        tornado=report.tornado,
        tornado_sentence=report.tornado.sentence,
        failures=report.failures,
        redundancies=report.redundancies,
        redundancy_sentence=report.redundancy_sentence,
        mix=report.mix,
        mix_curve=report.mix_curve,
        break_evens=report.break_evens,
        advice=report.advice,
        assumptions=report.assumptions,
        not_known=report.not_known,
        notes=report.notes,
    )


def _money(price: FullPrice, asked: BudgetAsked, today: date) -> Money:
    other = None
    if asked.currency is not None:
        rates = exchange_rates().with_rates(asked.wishes.rates, on=today)
        other = in_currency(price.usd, rates.of(asked.currency))
    return Money(
        usd=price.usd,
        usd_per_day=price.usd_per_day,
        usd_per_month=price.usd_per_month,
        usd_per_mean_month=price.usd_per_mean_month,
        usd_per_year=price.usd_per_year,
        other=other,
    )
