from dataclasses import replace

from caudal.facts.models import resolve_model
from caudal.fit.needs import memory_needs
from caudal.fit.speculation import parse_speculation
from caudal.plan.question import Wishes
from caudal.vocabulary.estimate import Basis
from plan_cases import answer, few_gpus, question


def test_a_plan_with_drafts_says_so_and_is_not_called_calibrated() -> None:
    wishes = Wishes(gpus=few_gpus("h100-sxm"), precisions=("fp8",), top=1)
    drafting = Wishes(
        gpus=few_gpus("h100-sxm"),
        precisions=("fp8",),
        top=1,
        speculation=parse_speculation("0.7:4"),
    )

    plain, drafted = answer(question(wishes=wishes)), answer(question(wishes=drafting))

    tpot = [report.rows[0].operation.latencies[1].seconds for report in (plain, drafted)]
    assert tpot[1].value < tpot[0].value
    assert [Basis.CALIBRATED, Basis.ROOFLINE] == [each.basis for each in tpot]
    assert any("2.77 tokens a step" in note for note in drafted.assumptions)


def test_own_prediction_layers_are_counted_in_memory() -> None:
    wishes = Wishes(
        gpus=few_gpus("h200-sxm"),
        top=1,
        precisions=("native",),
        speculation=parse_speculation("0.8:1"),
    )
    model = resolve_model("deepseek-ai/DeepSeek-V3")
    asked = question(model.id, wishes=wishes)

    row = answer(asked).rows[0]

    assert row.serving.speculative
    assert "prediction layers are loaded" in " ".join(asked.assumptions)
    without = memory_needs(model, replace(row.serving, speculative=False))
    assert row.memory.weights_bytes.value > without.weights.value + 1e9
