from math import floor

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import resolve_model
from caudal.fit.budget import card_memory, memory_budget
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.plan.screen import room_of
from caudal.plan.shapes import Shape
from caudal.speed.work import step_work
from memory_cases import served
from plan_cases import question

WORKLOAD = question().workload
MODEL = resolve_model("llama-3.1-8b")
SERVING = served(longest=WORKLOAD.longest_tokens, sequences=4096, step=2048)


def shape_of(serving: Serving) -> Shape:
    return Shape(
        serving=serving, needs=memory_needs(MODEL, serving), work=step_work(MODEL, serving)
    )


def test_cards_are_screened_by_what_the_budget_counts() -> None:
    cards = [gpu_catalogue().get(name) for name in ("h100-sxm", "rtx-4090", "gb10")]

    room = room_of(shape_of(SERVING), [card_memory(card) for card in cards], WORKLOAD)

    expected = [
        floor(
            memory_budget(
                MODEL, SERVING, card, context_tokens=WORKLOAD.sequence_tokens, concurrency=1
            ).max_concurrency.value
        )
        for card in cards
    ]
    assert expected == room.concurrency.tolist()


def test_a_card_that_shares_the_hosts_memory_holds_less() -> None:
    own = card_memory(gpu_catalogue().get("h100-sxm"))

    room = room_of(shape_of(SERVING), [own, own._replace(unified=True)], WORKLOAD)

    assert room.concurrency[1] < room.concurrency[0]
