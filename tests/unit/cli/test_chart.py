from datetime import date

from caudal.cli.chart import step_chart

DAYS = [(date(2026, 1, 1), 4.0), (date(2026, 7, 1), 2.0)]


def test_a_chart_steps_down_where_the_price_does() -> None:
    lines = step_chart(DAYS, until=date(2026, 12, 31), width=60).split("\n")

    assert "•" in lines[0]
    assert "•" in lines[9]
    assert lines[0].index("•") < lines[9].index("•")
    assert lines[-1].strip().startswith("2026-01-01")
    assert lines[-1].endswith("2026-12-31")


def test_no_line_is_wider_than_asked() -> None:
    for width in (40, 60, 100):
        chart = step_chart(DAYS, until=date(2026, 12, 31), width=width)
        assert max(map(len, chart.split("\n"))) <= width


def test_one_price_is_a_flat_line_and_none_is_nothing() -> None:
    chart = step_chart(DAYS[:1], until=date(2026, 2, 1), width=50)

    assert 1 == sum("•" in line for line in chart.split("\n"))
    assert not step_chart([], until=date(2026, 2, 1), width=50)
