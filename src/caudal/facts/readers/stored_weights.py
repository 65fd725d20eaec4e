"""The exact bytes of a checkpoint by role and layer, from the headers of its files."""

from typing import Final

from caudal.facts.model import ModelSpec, RecurrentMixer, StoredWeights
from caudal.facts.precision import Role
from caudal.facts.readers.tensor_roles import layer_of, role_of
from caudal.facts.readers.weight_file import WeightHeader
from caudal.facts.weights import weight_groups
from caudal.vocabulary.units import Bytes

_ATTENTION: Final = frozenset({Role.QUERY, Role.KEY_VALUE, Role.ATTENTION_OUTPUT})


def stored_weights(header: WeightHeader, model: ModelSpec) -> StoredWeights:
    """Return the bytes of every role and layer of `model` in files with this header.

    Layers behind the stack are multi-token prediction. Where a file fuses queries with keys and
    values, the bytes are shared out by their parameters: one tensor has one type.
    """
    layers = len(model.layers)
    recurrent = frozenset(
        index
        for index, layer in enumerate(model.layers)
        if layer.mixers and all(isinstance(mixer, RecurrentMixer) for mixer in layer.mixers)
    )
    by_role: dict[Role, int] = {}
    by_layer = [0] * layers
    for tensor in header.tensors:
        role, layer = role_of(tensor.name), layer_of(tensor.name)
        if role is Role.VISION:
            layer = None  # an encoder numbers its own layers
        elif layer is not None and layer >= layers:
            role, layer = Role.MTP, None
        elif layer in recurrent and role in _ATTENTION:
            role = Role.RECURRENT
        if layer is not None and role is not Role.MTP:
            by_layer[layer] += tensor.bytes
        by_role[role] = by_role.get(role, 0) + tensor.bytes
    _share_fused(by_role, model)
    return StoredWeights(
        by_role=tuple(
            (role, Bytes(size)) for role, size in sorted(by_role.items(), key=lambda i: -i[1])
        ),
        by_layer=tuple(map(Bytes, by_layer)),
        by_type=tuple(header.bytes_by_type().items()),
        tensors=len(header.tensors),
        files=header.files,
    )


def layers_in(header: WeightHeader) -> int:
    """Return how many layers the tensors' names number, prediction layers among them."""
    numbers = (layer_of(t.name) for t in header.tensors if role_of(t.name) is not Role.VISION)
    return max((number + 1 for number in numbers if number is not None), default=0)


def _share_fused(by_role: dict[Role, int], model: ModelSpec) -> None:
    """Give keys and values their part of a tensor that holds queries too."""
    if Role.QUERY not in by_role or Role.KEY_VALUE in by_role:
        return
    query = key_value = 0
    for group in weight_groups(model):
        if group.role is Role.QUERY:
            query += group.parameters
        elif group.role is Role.KEY_VALUE:
            key_value += group.parameters
    if key_value:
        fused = by_role[Role.QUERY]
        part = fused * key_value // (query + key_value)
        by_role[Role.QUERY], by_role[Role.KEY_VALUE] = fused - part, part
