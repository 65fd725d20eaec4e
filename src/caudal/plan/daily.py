"""A day's input and output tokens, stated apart, as a load."""

from dataclasses import replace

from caudal.plan.question import TYPICAL_OUTPUT_TOKENS, Traffic
from caudal.vocabulary.errors import ContradictoryOptionsError
from caudal.vocabulary.units import Tokens


def with_daily_tokens(
    traffic: Traffic, *, input_per_day: float | None, output_per_day: float | None
) -> Traffic:
    """Return the traffic with these amounts a day; requests follow from one stated length.

    `requests = output a day / output tokens`, then `input tokens = input a day / requests`; with
    only the input length stated, the other way round. Without either length, answers are as long
    as those of the public trace that plans take.

    Raises:
        ContradictoryOptionsError: one of the two amounts is missing, another load is stated too,
            or both lengths are, and do not go with the amounts.
    """
    if input_per_day is None and output_per_day is None:
        return traffic
    if input_per_day is None or output_per_day is None:
        raise ContradictoryOptionsError(
            "--input-per-day and --output-per-day state the load together.",
            remedy="Give both, or --tokens-per-day for their sum.",
        )
    if traffic.rate or traffic.users or traffic.tokens_per_day:
        raise ContradictoryOptionsError(
            "--input-per-day with --output-per-day state the whole load already.",
            remedy="Leave out --rate, --users and --tokens-per-day.",
        )
    if traffic.input_tokens is not None and traffic.output_tokens is None:
        requests = input_per_day / traffic.input_tokens
    else:
        requests = output_per_day / (traffic.output_tokens or TYPICAL_OUTPUT_TOKENS)
    prompt = Tokens(max(1, round(input_per_day / requests)))
    answer = Tokens(max(1, round(output_per_day / requests)))
    stated = traffic.input_tokens
    if stated is not None and abs(prompt - stated) > 0.02 * stated:
        raise ContradictoryOptionsError(
            f"{input_per_day:,.0f} tokens in and {output_per_day:,.0f} out a day make "
            f"{prompt:,} tokens in a request of {answer:,} out, not {stated:,}.",
            remedy="Leave out --input or --output.",
        )
    return replace(
        traffic,
        input_tokens=prompt,
        output_tokens=answer,
        tokens_per_day=requests * (prompt + answer),
    )
