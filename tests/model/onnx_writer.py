"""ONNX files for tests, written field by field: a small DINOv2 as torch's export of a saliency detector leaves it."""

import numpy as np

OLD = (("attention.q_proj", "attention.attention.query"), ("attention.k_proj", "attention.attention.key"),
       ("attention.v_proj", "attention.attention.value"), ("attention.o_proj", "attention.output.dense"))


def varint(number: int) -> bytes:
    """7 bits a byte, the lowest first."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def field(number: int, value: int | bytes | str) -> bytes:
    """A field of a message: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, array: np.ndarray) -> bytes:
    """An initialiser of float32."""
    return field(5, b"".join(field(1, size) for size in array.shape) + field(2, 1) + field(8, name)
                 + field(9, array.astype("<f4").tobytes()))


def node(name: str, operation: str, *inputs: str) -> bytes:
    """An operation."""
    return field(1, b"".join(field(1, each) for each in inputs) + field(3, name) + field(4, operation))


def model(graph: bytes) -> bytes:
    """A file with this graph."""
    return field(1, 7) + field(2, "pytorch") + field(7, graph) + field(8, field(2, 14))


def detector(network) -> bytes:
    """A detector whose backbone is this Dinov2Model."""
    graph = tensor("decoder.upconv1.weight", np.zeros((3, 2), np.float32))
    for number, (key, value) in enumerate(network.state_dict().items()):
        name, array = f"backbone.{key}", value.numpy()
        for new, old in OLD:
            name = name.replace(new, old)
        if key == "embeddings.position_embeddings":
            graph += tensor("onnx::Concat_1", array[:, :1]) + tensor("onnx::Reshape_2", array[:, 1:])
            graph += node("/backbone/embeddings/Reshape_1", "Reshape", "onnx::Reshape_2", "sizes")
            graph += node("/backbone/embeddings/Concat_6", "Concat", "onnx::Concat_1", "moved")
        elif array.ndim == 2 and key != "embeddings.mask_token":
            place = "/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.") + "/MatMul"
            graph += tensor(f"onnx::MatMul_{number}", array.T.copy())
            graph += node(place, "MatMul", "in", f"onnx::MatMul_{number}")
        elif key != "embeddings.mask_token":
            graph += tensor(name, array)
    return model(graph)


def small_dinov2():
    """A Dinov2Model of two layers of two heads with random weights and no mask token's."""
    import torch
    from transformers import Dinov2Config, Dinov2Model

    torch.manual_seed(0)
    network = Dinov2Model(Dinov2Config(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=3,
                                       image_size=56, patch_size=14)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.2)
        network.embeddings.mask_token.zero_()
    return network
