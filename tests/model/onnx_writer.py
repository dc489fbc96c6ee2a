"""Write an ONNX file for tests: a small DINOv2 in the form of torch's export of a saliency detector."""

import numpy as np
import torch
from onnx import helper, numpy_helper
from transformers import Dinov2Config, Dinov2Model

OLD = (("attention.q_proj", "attention.attention.query"), ("attention.k_proj", "attention.attention.key"),
       ("attention.v_proj", "attention.attention.value"), ("attention.o_proj", "attention.output.dense"))


def detector(network) -> bytes:
    """Return the ONNX file of a detector whose backbone is this Dinov2Model."""
    tensors, nodes = {"decoder.upconv1.weight": np.zeros((3, 2), np.float32)}, []

    def node(name, operation, *inputs):
        nodes.append(helper.make_node(operation, inputs, [name], name))

    for number, (key, value) in enumerate(network.state_dict().items()):
        name, array = f"backbone.{key}", value.numpy()
        for new, old in OLD:
            name = name.replace(new, old)
        if key == "embeddings.position_embeddings":
            tensors |= {"onnx::Concat_1": array[:, :1], "onnx::Reshape_2": array[:, 1:]}
            node("/backbone/embeddings/Reshape_1", "Reshape", "onnx::Reshape_2", "sizes")
            node("/backbone/embeddings/Concat_6", "Concat", "onnx::Concat_1", "moved")
        elif array.ndim == 2 and key != "embeddings.mask_token":
            place = "/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.") + "/MatMul"
            tensors[f"onnx::MatMul_{number}"] = array.T.copy()
            node(place, "MatMul", "in", f"onnx::MatMul_{number}")
        elif key != "embeddings.mask_token":
            tensors[name] = array
    graph = helper.make_graph(nodes, "detector", [], [], [numpy_helper.from_array(np.ascontiguousarray(array), name)
                                                          for name, array in tensors.items()])
    return helper.make_model(graph).SerializeToString()


def small_dinov2():
    """Create a Dinov2Model of two layers with two heads, with random weights and a zero mask token."""
    torch.manual_seed(0)
    network = Dinov2Model(Dinov2Config(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=3,
                                       image_size=56, patch_size=14)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.2)
        network.embeddings.mask_token.zero_()
    return network
