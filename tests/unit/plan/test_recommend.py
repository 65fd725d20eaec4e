from dataclasses import replace
from itertools import pairwise

from caudal.plan.recommend import answer_seconds, recommend
from plan_cases import answer, question


def test_the_recommended_rows_are_on_a_front_that_no_row_beats() -> None:
    report = answer(question())

    chosen = recommend(report)

    assert chosen is not None
    price = {row.rank: float(row.price.full.usd) for row in report.rows}
    time = {row.rank: answer_seconds(row, report.workload) for row in report.rows}
    assert chosen.cheapest.price.full.usd == min(row.price.full.usd for row in report.rows)
    assert time[chosen.fastest.rank] == min(time.values())
    assert chosen.balanced in chosen.front
    for before, after in pairwise(chosen.front):
        assert price[before.rank] <= price[after.rank]
        assert time[before.rank] > time[after.rank]
    for row in report.rows:
        assert any(
            price[best.rank] <= price[row.rank] and time[best.rank] <= time[row.rank]
            for best in chosen.front
        )


def test_nothing_is_recommended_where_nothing_serves() -> None:
    report = replace(answer(question()), rows=())

    assert recommend(report) is None
