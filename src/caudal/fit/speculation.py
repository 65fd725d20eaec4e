"""Speculative decoding as a setting: how many tokens are drafted, and how many of them survive."""

from dataclasses import dataclass
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.quantities import parse_fraction

# What drafting one token costs, in decode steps of the model itself. Source: arXiv:2211.17192 §3.3,
# "c was always less than 0.05" for drafts two orders of magnitude smaller.
USUAL_DRAFT_SHARE: Final = 0.05
MOST_DRAFT_TOKENS: Final = 32  # chosen: engines are run with 1 to 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """Drafting a few tokens and checking all of them in one step of the model.

    `acceptance` is the chance that a drafted token is kept, given that those before it were.
    """

    acceptance: float  # 0 to 1
    draft_tokens: int  # drafted for each step
    draft_share: float = USUAL_DRAFT_SHARE  # time of drafting one token over a plain decode step

    def __post_init__(self) -> None:
        if not 0 <= self.acceptance <= 1:
            raise InvalidQuantityError(
                f"An acceptance of {self.acceptance:g} is no share.", remedy="Give one from 0 to 1."
            )
        if not 0 <= self.draft_tokens <= MOST_DRAFT_TOKENS:
            raise InvalidQuantityError(
                f"{self.draft_tokens} draft tokens are not from 0 to {MOST_DRAFT_TOKENS}.",
                remedy="Give the tokens drafted for each step, such as 4.",
            )
        if not 0 <= self.draft_share <= 1:
            raise InvalidQuantityError(
                f"A draft that takes {self.draft_share:g} of a step is no share.",
                remedy="Give one from 0 to 1, such as 0.05.",
            )

    @property
    def tokens_per_step(self) -> float:
        """Return the tokens that one step yields on average: those kept, and one of the model's.

        `(1 − a^(k+1)) / (1 − a)` for an acceptance `a` and `k` draft tokens.
        Leaves out that acceptance varies from token to token and between requests.

        Source: arXiv:2211.17192 equation 1.
        """
        return sum(self.acceptance**kept for kept in range(self.draft_tokens + 1))


def parse_speculation(text: str) -> Speculation:
    """Return what "0.7:4" or "0.7:4:0.02" means: acceptance, draft tokens, cost of each.

    Raises:
        InvalidQuantityError: the text is of another form, or out of range.
    """
    acceptance, *rest = text.split(":")
    if len(rest) not in {1, 2} or not rest[0].strip().isdecimal():
        raise InvalidQuantityError(
            f"{text!r} does not say what is drafted.",
            remedy="Give acceptance and draft tokens, such as 0.7:4, or 0.7:4:0.05 with the cost "
            "of a draft token in decode steps.",
        )
    return Speculation(
        acceptance=parse_fraction(acceptance, zero_ok=True),
        draft_tokens=int(rest[0]),
        draft_share=parse_fraction(rest[1], zero_ok=True) if rest[1:] else USUAL_DRAFT_SHARE,
    )
