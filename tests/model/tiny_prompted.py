"""Create small vision–language models with random weights, and their processors, without network access."""
import json
import re
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from clearhead.model.capture.transformers_internals import processor_class

TEXT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "intermediate_size": 40, "vocab_size": 360, "max_position_embeddings": 2048, "bos_token_id": 1,
        "eos_token_id": 2, "pad_token_id": 0}
VISION = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
          "image_size": 32, "patch_size": 8}
SQUARE = {"size": {"height": 32, "width": 32}}
CROP = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
QWEN_TEXT = {**TEXT, "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2],
                                                          "rope_theta": 10000.0}}
QWEN_IDS = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>",
            "vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>"}
QWEN_PICTURE = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2,
                "size": {"shortest_edge": 1024, "longest_edge": 6144}}
EXTRA = ["<pad>", "<s>", "</s>", "<unk>", "<image>", "<video>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>",
         "<|vision_end|>", "<image_soft_token>", "<boi>", "<eoi>", "<IMG_CONTEXT>", "<img>", "</img>", "[IMG]",
         "[IMG_BREAK]", "[IMG_END]", "<fake_token_around_image>", "<global-img>", "<|image|>", "<imgpad>",
         "<|im_start|>", "<|im_end|>", "<|begin_of_image|>", "<|end_of_image|>", "<begin_of_image>", "<end_of_image>",
         "<image_placeholder>", "<|IMG_PATCH|>", "<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_LINE_BREAK|>",
         "<phrase>", "</phrase>", "<object>", "</object>", "</image>", "<patch_index_0000>", "|SPEAKER|", "|NEWLINE|",
         "<end_of_utterance>", "<IMG_ATOM>", "<IMG_LINE>", "<|begin_of_video|>", "<|end_of_video|>",
         "<|image_start|>", "<|image_end|>", "<|patch|>", "<|tile_x_separator|>", "<|tile_y_separator|>",
         "<|img_row_1_col_1|>", "<|img_thumbnail|>", "<0x00>", "<0x01>", "<0x04>", "<sep>", "<IMG_GRID>", "<IMG_COL>",
         "<IMG_ROW>", "<IMG_START>", "<IMG_END>", *(f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)),
         *(f"TILE_{number}" for number in range(1, 5)), "TILE_GLOBAL"]


def tokenizer(spaced: str = "", **names: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of bytes with the marks of all these models. spaced: the mark before several of which it puts
    a space, as SentencePiece does before all; names: its own names of some, as attributes."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate((*EXTRA[:4], *signs))}
    made = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if spaced:
        made.normalizer = normalizers.Replace(Regex("^{0}(?={0})".format(re.escape(spaced))), f" {spaced}")
    made.add_special_tokens([AddedToken(each, special=True, normalized=bool(spaced)) for each in EXTRA])
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
                                   unk_token="<unk>", extra_special_tokens=names)


LLAMA = {"model_type": "llama", **TEXT}
CLIP = {"model_type": "clip_vision_model", **VISION}
SIGLIP = {"model_type": "siglip_vision_model", **VISION}
# type: class, settings of its configuration, class of the image processor and its settings, class of the processor, its
# settings, and the tokenizer's own names. A setting that is a mark is that mark's id.
TYPES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any], str, dict[str, Any], dict[str, str]]] = {
    "llava": ("LlavaForConditionalGeneration",
              {"text_config": LLAMA, "vision_config": CLIP, "image_token_id": "<image>"},
              "CLIPImageProcessorPil", CROP, "LlavaProcessor",
              {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}, {}),
    "vipllava": ("VipLlavaForConditionalGeneration",
                 {"text_config": LLAMA, "vision_config": CLIP, "image_token_id": "<image>",
                  "vision_feature_layers": [-2, -1]},
                 "CLIPImageProcessorPil", CROP, "LlavaProcessor",
                 {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}, {}),
    "llava_next": ("LlavaNextForConditionalGeneration",
                   {"text_config": LLAMA, "vision_config": CLIP, "image_token_id": "<image>",
                    "image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]},
                   "LlavaNextImageProcessorPil",
                   {**CROP, "image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]}, "LlavaNextProcessor",
                   {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1},
                   {}),
    "llava_onevision": ("LlavaOnevisionForConditionalGeneration",
                        {"text_config": {"model_type": "qwen2", **TEXT}, "vision_config": SIGLIP,
                         "image_token_id": "<image>", "video_token_id": "<video>",
                         "image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]},
                        "LlavaOnevisionImageProcessorPil",
                        {**SQUARE, "image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]},
                        "LlavaOnevisionProcessor",
                        {"num_image_tokens": 16, "vision_feature_select_strategy": "full"}, {}),
    "qwen2_vl": ("Qwen2VLForConditionalGeneration",
                 {"text_config": QWEN_TEXT,
                  "vision_config": {"embed_dim": 24, "depth": 2, "num_heads": 2, "hidden_size": 32, "patch_size": 8,
                                    "mlp_ratio": 2}, **QWEN_IDS},
                 "Qwen2VLImageProcessorPil", QWEN_PICTURE, "Qwen2VLProcessor", {}, {}),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration",
                   {"text_config": QWEN_TEXT,
                    "vision_config": {"hidden_size": 24, "depth": 2, "num_heads": 2, "out_hidden_size": 32,
                                      "patch_size": 8, "intermediate_size": 32, "window_size": 32,
                                      "fullatt_block_indexes": [1]}, **QWEN_IDS},
                   "Qwen2VLImageProcessorPil", QWEN_PICTURE, "Qwen2_5_VLProcessor", {}, {}),
    "qwen3_vl": ("Qwen3VLForConditionalGeneration",
                 {"text_config": QWEN_TEXT,
                  "vision_config": {"hidden_size": 24, "depth": 2, "num_heads": 2, "out_hidden_size": 32,
                                    "patch_size": 8, "intermediate_size": 32, "num_position_embeddings": 16,
                                    "deepstack_visual_indexes": [0]}, **QWEN_IDS},
                 "Qwen2VLImageProcessorPil", QWEN_PICTURE, "Qwen3VLProcessor", {}, {}),
    "gemma3": ("Gemma3ForConditionalGeneration",
               {"text_config": {**TEXT, "sliding_window": 8}, "vision_config": SIGLIP, "mm_tokens_per_image": 4,
                "image_token_id": "<image_soft_token>", "boi_token_id": "<boi>", "eoi_token_id": "<eoi>"},
               "Gemma3ImageProcessorPil", SQUARE, "Gemma3Processor", {"image_seq_length": 4},
               {"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<image_soft_token>"}),
    "paligemma": ("PaliGemmaForConditionalGeneration",
                  {"text_config": {"model_type": "gemma", **TEXT}, "vision_config": {**SIGLIP, "projection_dim": 32},
                   "projection_dim": 32, "image_token_id": "<image>"},
                  "SiglipImageProcessorPil", {**SQUARE, "image_seq_length": 16}, "PaliGemmaProcessor", {}, {}),
    "internvl": ("InternVLForConditionalGeneration",
                 {"text_config": {"model_type": "qwen2", **TEXT},
                  "vision_config": {**VISION, "image_size": [32, 32], "patch_size": [8, 8]},
                  "image_token_id": "<IMG_CONTEXT>", "image_seq_length": 4},
                 "GotOcr2ImageProcessorPil",
                 {**SQUARE, "crop_to_patches": True, "min_patches": 1, "max_patches": 4}, "InternVLProcessor",
                 {"image_seq_length": 4}, {"start_image_token": "<img>", "end_image_token": "</img>",
                                           "context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}),
    "idefics3": ("Idefics3ForConditionalGeneration",
                 {"text_config": LLAMA, "vision_config": VISION, "scale_factor": 2, "image_token_id": "<image>"},
                 "Idefics3ImageProcessorPil",
                 {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}, "Idefics3Processor",
                 {"image_seq_len": 4}, {}),
    "smolvlm": ("SmolVLMForConditionalGeneration",
                {"text_config": LLAMA, "vision_config": VISION, "scale_factor": 2, "image_token_id": "<image>"},
                "SmolVLMImageProcessorPil",
                {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}, "SmolVLMProcessor",
                {"image_seq_len": 4}, {"fake_image_token": "<fake_token_around_image>",
                                       "image_token": "<image>", "end_of_utterance_token": "<end_of_utterance>",
                                       "global_image_token": "<global-img>"}),
    "pixtral": ("LlavaForConditionalGeneration",
                {"text_config": {"model_type": "mistral", **TEXT},
                 "vision_config": {"model_type": "pixtral", **VISION, "image_size": 64},
                 "image_token_id": "[IMG]", "vision_feature_layer": -1, "vision_feature_select_strategy": "full"},
                "PixtralImageProcessorPil", {"size": {"longest_edge": 64}, "patch_size": 8}, "PixtralProcessor",
                {"patch_size": 8}, {}),
    "mistral3": ("Mistral3ForConditionalGeneration",
                 {"text_config": {"model_type": "mistral", **TEXT},
                  "vision_config": {"model_type": "pixtral", **VISION, "image_size": 64},
                  "image_token_id": "[IMG]", "spatial_merge_size": 2, "vision_feature_layer": -1},
                 "PixtralImageProcessorPil", {"size": {"longest_edge": 64}, "patch_size": 16}, "PixtralProcessor",
                 {"patch_size": 8, "spatial_merge_size": 2}, {}),
    "florence2": ("Florence2ForConditionalGeneration",
                  {"text_config": {"model_type": "bart", "vocab_size": 360, "d_model": 32, "encoder_layers": 2,
                                   "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                                   "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 256},
                   "vision_config": {"embed_dim": [8, 16], "depths": [1, 1], "patch_size": [7, 3],
                                     "patch_stride": [4, 2], "patch_padding": [3, 1], "patch_prenorm": [False, True],
                                     "num_heads": [2, 2], "num_groups": [2, 2], "window_size": 4,
                                     "projection_dim": 32},
                   "image_token_id": "<image>"},
                  "CLIPImageProcessorPil", {**SQUARE, "do_center_crop": False, "image_seq_length": 17},
                  "Florence2Processor", {"num_additional_image_tokens": 1}, {"image_token": "<image>"}),
    "mllama": ("MllamaForConditionalGeneration",
               {"text_config": {**TEXT, "num_hidden_layers": 3, "cross_attention_layers": [1],
                                "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
                "vision_config": {"hidden_size": 24, "num_hidden_layers": 2, "num_global_layers": 1,
                                  "attention_heads": 2, "intermediate_size": 32, "image_size": 32, "patch_size": 8,
                                  "vision_output_dim": 72, "intermediate_layers_indices": [0, 1],
                                  "max_num_tiles": 4},
                "image_token_id": "<|image|>"},
               "MllamaImageProcessorPil", {**SQUARE, "max_image_tiles": 4}, "MllamaProcessor", {},
               {"image_token": "<|image|>"}),
    "blip2": ("Blip2ForConditionalGeneration",
              {"text_config": {"model_type": "opt", "vocab_size": 360, "hidden_size": 32, "num_hidden_layers": 2,
                               "num_attention_heads": 4, "ffn_dim": 40, "word_embed_proj_dim": 32},
               "vision_config": VISION,
               "qformer_config": {"vocab_size": 360, "hidden_size": 24, "num_hidden_layers": 2,
                                  "num_attention_heads": 2, "intermediate_size": 32, "encoder_hidden_size": 24},
               "num_query_tokens": 5, "image_text_hidden_size": 8, "image_token_index": "<image>"},
              "BlipImageProcessorPil", SQUARE, "Blip2Processor", {"num_query_tokens": 5}, {}),
    "instructblip": ("InstructBlipForConditionalGeneration",
                     {"text_config": {"model_type": "opt", "vocab_size": 360, "hidden_size": 32,
                                      "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40,
                                      "word_embed_proj_dim": 32},
                      "vision_config": VISION,
                      "qformer_config": {"vocab_size": 360, "hidden_size": 24, "num_hidden_layers": 2,
                                         "num_attention_heads": 2, "intermediate_size": 32,
                                         "encoder_hidden_size": 24},
                      "num_query_tokens": 5, "image_token_index": "<image>"},
                     "BlipImageProcessorPil", SQUARE, "InstructBlipProcessor", {"num_query_tokens": 5}, {}),
    "kosmos2": ("Kosmos2ForConditionalGeneration",
                {"text_config": {"vocab_size": 360, "embed_dim": 32, "layers": 2, "attention_heads": 4,
                                 "ffn_dim": 40, "max_position_embeddings": 256},
                 "vision_config": VISION, "latent_query_num": 64},
                "CLIPImageProcessorPil", CROP, "Kosmos2Processor", {"num_patch_index_tokens": 4}, {}),
    "aria": ("AriaForConditionalGeneration",
             {"text_config": {**TEXT, "moe_num_experts": 2, "moe_topk": 1, "moe_num_shared_experts": 1},
              "vision_config": {"model_type": "idefics3_vision", **VISION, "image_size": 980, "patch_size": 196},
              "image_token_id": "<image>", "projector_patch_to_query_dict": {25: 5}},
             "AriaImageProcessorPil", {"max_image_size": 980, "min_image_size": 980}, "AriaProcessor",
             {"size_conversion": {980: 5}}, {"image_token": "<image>"}),
    "aya_vision": ("AyaVisionForConditionalGeneration",
                   {"text_config": {"model_type": "cohere2", **TEXT, "sliding_window": 64}, "vision_config": SIGLIP,
                    "downsample_factor": 2, "image_token_id": "<image>", "vision_feature_layer": -1},
                   "GotOcr2ImageProcessorPil",
                   {**SQUARE, "crop_to_patches": True, "min_patches": 1, "max_patches": 4}, "AyaVisionProcessor",
                   {"patch_size": 8, "img_size": 32, "downsample_factor": 2, "img_patch_token": "<image>"}, {}),
    "got_ocr2": ("GotOcr2ForConditionalGeneration",
                 {"text_config": {"model_type": "qwen2", **TEXT},
                  "vision_config": {**VISION, "image_size": 128, "output_channels": 8, "window_size": 4,
                                    "global_attn_indexes": [1], "mlp_dim": 32},
                  "image_token_id": "<imgpad>"},
                 "GotOcr2ImageProcessorPil", {"size": {"height": 128, "width": 128}}, "GotOcr2Processor", {}, {}),
    "janus": ("JanusForConditionalGeneration",
              {"text_config": LLAMA,
               "vision_config": {**VISION, "projection_dim": 32, "mlp_ratio": 2, "num_image_tokens": 16, "depth": 2},
               "vq_config": {"base_channels": 32, "channel_multiplier": [1, 1], "num_res_blocks": 1,
                             "embed_dim": 8, "num_embeddings": 8, "latent_channels": 32, "projection_dim": 32,
                             "image_token_embed_dim": 8, "num_patches": 4},
               "image_token_id": "<image_placeholder>"},
              "JanusImageProcessorPil", {**SQUARE, "min_size": 4}, "JanusProcessor", {"num_image_tokens": 16},
              {"image_token": "<image_placeholder>", "boi_token": "<begin_of_image>",
               "eoi_token": "<end_of_image>"}),
    "cohere2_vision": ("Cohere2VisionForConditionalGeneration",
                       {"text_config": {"model_type": "cohere2", **TEXT, "sliding_window": 64},
                        "vision_config": SIGLIP, "downsample_factor": 2, "image_token_id": "<|IMG_PATCH|>",
                        "alignment_intermediate_size": 32},
                       "GotOcr2ImageProcessorPil", {**SQUARE, "crop_to_patches": True, "max_patches": 4,
                                                    "patch_size": 8, "downsample_factor": 2},
                       "Cohere2VisionProcessor", {},
                       {"boi_token": "<|START_OF_IMG|>", "eoi_token": "<|END_OF_IMG|>", "image_token": "<|IMG_PATCH|>",
                        "img_line_break_token": "<|IMG_LINE_BREAK|>"}),
    "glm4v": ("Glm4vForConditionalGeneration",
              {"text_config": {**QWEN_TEXT, "partial_rotary_factor": 1.0},
               "vision_config": {"hidden_size": 24, "depth": 2, "num_heads": 2, "out_hidden_size": 32,
                                 "patch_size": 8, "intermediate_size": 32, "image_size": 64},
               "image_token_id": "<|image|>", "video_token_id": "<video>", "image_start_token_id": "<|begin_of_image|>",
               "image_end_token_id": "<|end_of_image|>", "video_start_token_id": "<|begin_of_video|>",
               "video_end_token_id": "<|end_of_video|>"},
              "Glm4vImageProcessorPil", QWEN_PICTURE, "Glm4vProcessor", {}, {}),
    "ovis2": ("Ovis2ForConditionalGeneration",
              {"text_config": {"model_type": "qwen2", **TEXT}, "hidden_size": 32,
               "vision_config": {**VISION, "vocab_size": 20, "hidden_stride": 2, "num_visual_indicator_tokens": 5},
               "image_token_id": "<IMG_ATOM>", "visual_indicator_token_ids": ["<img>", "</img>", "<IMG_GRID>",
                                                                             "<IMG_COL>", "<IMG_ROW>"]},
              "Ovis2ImageProcessorPil", {**SQUARE, "crop_to_patches": True, "max_patches": 4}, "Ovis2Processor",
              {"image_seq_length": 4}, {"image_token": "<image>"}),
    "idefics2": ("Idefics2ForConditionalGeneration",
                 {"text_config": {"model_type": "mistral", **TEXT}, "vision_config": VISION,
                  "perceiver_config": {"hidden_size": 32, "resampler_n_latents": 4, "resampler_depth": 1,
                                       "resampler_n_heads": 2, "resampler_head_dim": 8, "num_key_value_heads": 1},
                  "image_token_id": "<image>"},
                 "Idefics2ImageProcessorPil", {"size": {"longest_edge": 32, "shortest_edge": 16}},
                 "Idefics2Processor", {"image_seq_len": 4}, {}),
    "deepseek_vl": ("DeepseekVLForConditionalGeneration",
                    {"text_config": LLAMA, "vision_config": SIGLIP, "image_token_id": "<image_placeholder>"},
                    "DeepseekVLImageProcessorPil", {**SQUARE, "min_size": 4}, "DeepseekVLProcessor",
                    {"num_image_tokens": 16}, {"image_token": "<image_placeholder>"}),
    "fuyu": ("FuyuForCausalLM",
             {"text_config": {"model_type": "persimmon", **{name: size for name, size in TEXT.items() if name not in (
                 "num_key_value_heads", "head_dim")}}, "patch_size": 8, "image_token_id": "|SPEAKER|"},
             "FuyuImageProcessorPil", {"size": {"height": 32, "width": 48}, "patch_size": {"height": 8, "width": 8}},
             "FuyuProcessor", {}, {}),
    "chameleon": ("ChameleonForConditionalGeneration",
                  {**TEXT, "vq_config": {"base_channels": 32, "channel_multiplier": [1, 1, 1, 1],
                                         "num_res_blocks": 1, "embed_dim": 8, "num_embeddings": 8,
                                         "latent_channels": 32, "resolution": 32},
                   "vocabulary_map": {"<image>": "<image>", **{f"IMGIMG{'ABCDEFGH'[n]}Z": 10 + n for n in range(8)}}},
                  "ChameleonImageProcessorPil", CROP, "ChameleonProcessor", {"image_seq_length": 16},
                  {"image_token": "<image>", "boi_token": "<boi>", "eoi_token": "<eoi>"}),
}


# what attention in a vision tower adds to the stream
MIXES = re.compile(r"visi.*(out_proj|o_proj|attn\.proj|projection_layer)\.weight")


def _ids(settings: Any, known: dict[str, int]) -> Any:
    if isinstance(settings, dict):
        return {name: value if name in ("model_type", "rope_type") else _ids(value, known)
                for name, value in settings.items()}
    if isinstance(settings, list):
        return [_ids(each, known) for each in settings]
    return known.get(settings, settings) if isinstance(settings, str) else settings


def made(name: str, seed: int = 3, **pictures: Any) -> tuple[Any, Any]:
    """Return a small model of a type and its processor. pictures: other settings of its image processor."""
    kind, settings, of_pictures, options, reader, more, names = TYPES[name]
    words = tokenizer("|SPEAKER|" * (name == "fuyu"), **names)   # its processor drops the space
    kind = getattr(transformers, kind)
    torch.manual_seed(seed)
    network = kind(kind.config_class(**_ids(settings, words.get_vocab()))).eval()
    with torch.no_grad():
        for path, parameter in network.named_parameters():
            if parameter.ndim > 1 or not parameter.any():
                mixes = MIXES.search(path) is not None   # little, so that a token changes most with its own patch
                size = 0.2 if mixes else 1.2
                parameter.normal_(std=0.3 if parameter.ndim == 1 else size / parameter[0].numel() ** 0.5)
    processor = processor_class(reader)
    given = {"image_processor": getattr(transformers, of_pictures)(**options | pictures), "tokenizer": words, **more}
    given |= {each: None for each in ("video_processor",) if each in processor.__init__.__code__.co_varnames}
    if name == "instructblip":
        given["qformer_tokenizer"] = words
    if name == "smolvlm":   # it spells the seconds of videos
        sys.modules[processor.__mro__[1].__module__].num2words = str
    read = processor(**given)
    if name == "cohere2_vision":   # it derives this from the picture processor that needs torchvision
        read.patch_size = 2
    if name == "got_ocr2":   # 256 by default
        read.num_image_tokens = 16
    return network, read


def save(folder: Path, name: str) -> Path:
    """Save a type's small model with its processor in a folder."""
    network, processor = made(name)
    for part in (network, processor.tokenizer, processor.image_processor):
        part.save_pretrained(folder)
    _, _, _, _, reader, settings, _ = TYPES[name]
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": reader, **settings}), encoding="utf-8")
    return folder
