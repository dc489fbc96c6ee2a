"""Folders of models that read neither a text nor a picture alone, such as sound or time series."""
import pytest
import torch
import transformers
from transformers.utils import logging

from clearhead.model.core.query import UserError
from clearhead.model.look.look import look
from clearhead.model.sources import open_query

SMALL = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 32}
CONVOLUTIONS = {"conv_dim": [8], "conv_stride": [5], "conv_kernel": [10], "num_conv_pos_embeddings": 4,
                "num_conv_pos_embedding_groups": 2}
FOLDERS = {   # class, its settings, inputs that it reads, and what they are called
    "ast": ("AST", SMALL | {"max_length": 32, "num_mel_bins": 16, "patch_size": 8, "frequency_stride": 8,
                            "time_stride": 8}, {"input_values": torch.ones(1, 32, 16)}, "sound"),
    "hubert": ("Hubert", SMALL | CONVOLUTIONS, {"input_values": torch.ones(1, 60)}, "sound"),
    "patchtst": ("PatchTST", {"num_input_channels": 1, "context_length": 16, "patch_length": 4, "patch_stride": 4,
                              "d_model": 16, "num_attention_heads": 2, "num_hidden_layers": 1},
                 {"past_values": torch.arange(16.).view(1, 16, 1)}, "time series"),
    "vivit": ("Vivit", SMALL | {"image_size": 16, "num_frames": 2, "tubelet_size": [2, 8, 8]},
              {"pixel_values": torch.ones(1, 2, 3, 16, 16)}, "videos"),
    "decision": ("DecisionTransformer", {"state_dim": 3, "act_dim": 2, "hidden_size": 24, "n_layer": 1, "n_head": 3},
                 None, "other inputs, such as states"),
    "lxmert": ("Lxmert", {"vocab_size": 20, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 32,
                          "l_layers": 1, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 8},
               {"input_ids": torch.ones(1, 4).long(), "visual_feats": torch.ones(1, 2, 8),
                "visual_pos": torch.ones(1, 2, 4)}, "text and features of pictures")}


@pytest.mark.parametrize("name", FOLDERS)
def test_folder_of_other_inputs_says_what_it_reads(name, tmp_path):
    logging.set_verbosity_error()
    kind, settings, inputs, what = FOLDERS[name]
    network = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**settings))
    network.save_pretrained(tmp_path / name)
    with pytest.raises(UserError) as refused:
        open_query(str(tmp_path / name), "", image=None if name in ("ast", "vivit") else "0" * 64)
    assert f"reads {what}, and not one text or one picture alone; open it in a notebook with" in str(refused.value)
    if inputs is not None:
        assert look(network, inputs).maps
