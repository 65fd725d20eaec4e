"""From the text of a log to what it says: whose it is, then that engine's own reader."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from caudal.calibrate.start_logs import llama_cpp, sglang, tensorrt_llm, vllm
from caudal.calibrate.start_logs.lines import lines_of
from caudal.calibrate.start_logs.start_log import StartLog
from caudal.vocabulary.errors import InvalidLogError

_Reader = Callable[[Sequence[str]], StartLog]
# In this order where two are as often spoken of: SGLang's log names vLLM's kernels, not the
# other way round.
_ENGINES: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = (
    (sglang.MARKS, sglang.read),
    (tensorrt_llm.MARKS, tensorrt_llm.read),
    (vllm.MARKS, vllm.read),
    (llama_cpp.MARKS, llama_cpp.read),
)


def read_start_log(text: str, *, file: str = "the log") -> StartLog:
    """Return what the start-up log of an engine says.

    The engine is the one that most lines speak of. Only the first two million characters count.

    Raises:
        InvalidLogError: it is no engine's that is known, or holds no figure of memory.
    """
    lines = lines_of(text)
    counts = [(sum(bool(marks.search(line)) for line in lines), read) for marks, read in _ENGINES]
    most, read = max(counts, key=lambda each: each[0])
    if not most:
        raise InvalidLogError(
            f"{file} is not the start-up log of an engine that is known here.",
            remedy="Known are vLLM, SGLang, llama.cpp (Ollama, ik_llama.cpp) and TensorRT-LLM. "
            "Give the whole log, from the command to the first request.",
        )
    log = read(lines)
    if not log.measured and log.kv_tokens is None and log.kv_blocks is None and log.outcome == "ok":
        raise InvalidLogError(
            f"{file} is a log of {log.engine}, but states no term of memory.",
            remedy="Give the whole log, from the command to the first request; for vLLM at the "
            "level INFO.",
        )
    return log
