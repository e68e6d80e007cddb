
#include "hugging_face.hpp"

// The table of types: docs/formats/huggingface.md says what each is.
namespace stepcast::hugging_face {
namespace {

using Norm = ModelSpec::Norm;
using QkNorm = ModelSpec::QkNorm;
constexpr auto gelu = FeedForwardSpec::Kind::gelu;

// Values that classes of the library have for keys that a file leaves out.
constexpr std::string_view tied = R"({"tie_word_embeddings": true})";
constexpr std::string_view biased = R"({"attention_bias": true})";
constexpr std::string_view bias = R"({"bias": true})";
constexpr std::string_view no_window = R"({"use_sliding_window": false})";
constexpr std::string_view normed = R"({"use_qk_norm": true})";
constexpr std::string_view smollm3 =
    R"({"tie_word_embeddings": true, "use_sliding_window": false})";
constexpr std::string_view window_4096 = R"({"sliding_window": 4096})";
constexpr std::string_view gemma3 =
    R"({"tie_word_embeddings": true, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "vocab_size": 262208})";
constexpr std::string_view starcoder2 = R"({"tie_word_embeddings": true, "use_bias": true})";
constexpr std::string_view opt = R"({"tie_word_embeddings": true, "enable_bias": true})";
constexpr std::string_view jais2 = R"({"attention_bias": true, "mlp_bias": true})";
constexpr std::string_view internlm3 = R"({"bias": false, "qkv_bias": false})";

// clang-format off
constexpr Family table[] = {
    {"llama"}, {"mistral"}, {"ministral3"}, {"telechat2"}, {"telechat3"}, {"phi3"}, {"granite"},
    {"helium"}, {"xverse"}, {"aquila"}, {"Yi"},
    {.model_type = "arcee", .ffn = gelu},
    {.model_type = "apertus", .ffn = gelu, .qk_norm = QkNorm::head},
    {.model_type = "baichuan", .more = read_baichuan},
    {.model_type = "chatglm", .more = read_chatglm, .bias = "add_qkv_bias", .all_bias = "add_bias_linear"},
    {.model_type = "cwm", .full_every = 4},
    {.model_type = "ernie4_5", .all_bias = "use_bias", .defaults = tied},
    {.model_type = "exaone"},
    {.model_type = "exaone4", .qk_norm = QkNorm::head, .full_every = 4, .defaults = window_4096},
    {.model_type = "gemma", .defaults = tied, .gelu_gate = true},
    {.model_type = "gemma2", .norm = Norm::sandwich, .full_every = 2, .defaults = tied, .gelu_gate = true},
    {.model_type = "gemma3_text", .norm = Norm::sandwich, .qk_norm = QkNorm::head, .full_every = 6, .defaults = gemma3, .gelu_gate = true},
    {.model_type = "glm", .defaults = biased},
    {.model_type = "glm4", .norm = Norm::sandwich},
    {.model_type = "glm4v_text", .norm = Norm::sandwich, .defaults = biased},
    {.model_type = "hunyuan_v1_dense", .qk_norm = QkNorm::head, .qk_key = "use_qk_norm", .defaults = normed},
    {.model_type = "internlm", .bias = "bias", .defaults = bias},
    {.model_type = "internlm2", .bias = "bias"},
    {.model_type = "internlm3", .bias = "qkv_bias", .rest_bias = "bias", .defaults = internlm3},
    {.model_type = "jais2", .norm = Norm::layer, .ffn = gelu, .defaults = jais2},
    {.model_type = "mimo", .more = read_mtp, .windows = Windows::late, .defaults = biased},
    {.model_type = "ministral", .defaults = window_4096},
    {.model_type = "minicpm", .defaults = tied},
    {.model_type = "minicpm3", .read = read_minicpm3, .defaults = tied},
    {.model_type = "nemotron", .norm = Norm::layer, .ffn = gelu},
    {.model_type = "olmo", .norm = Norm::layer},
    {.model_type = "olmo2", .qk_norm = QkNorm::full},
    {.model_type = "olmo3", .qk_norm = QkNorm::full, .full_every = 4, .defaults = window_4096},
    {.model_type = "orion", .norm = Norm::layer},
    {.model_type = "PanguEmbedded", .bias = "bias", .defaults = bias},
    {.model_type = "qwen", .more = read_qwen},
    {.model_type = "qwen2", .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen2_vl", .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen2_vl_text", .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen2_5_vl", .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen2_5_vl_text", .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen3", .qk_norm = QkNorm::head, .windows = Windows::late},
    {.model_type = "qwen3_vl_text", .qk_norm = QkNorm::head, .windows = Windows::late},
    {.model_type = "seed_oss", .defaults = biased},
    {.model_type = "smollm3", .defaults = smollm3},
    {.model_type = "vaultgemma", .full_every = 2, .defaults = tied, .gelu_gate = true},
    {.model_type = "youtu", .read = read_minicpm3, .defaults = tied},
    {.model_type = "youtu_llm", .read = read_minicpm3, .defaults = tied},

    // a plain feed-forward, layer norms
    {.model_type = "bloom", .more = read_bloom, .norm = Norm::layer, .ffn = gelu, .defaults = tied, .four_times = true},
    {.model_type = "gpt2", .more = read_gpt2, .norm = Norm::layer, .ffn = gelu, .defaults = tied, .four_times = true},
    {.model_type = "gpt_bigcode", .more = read_gpt_bigcode, .norm = Norm::layer, .ffn = gelu, .defaults = tied, .four_times = true},
    {.model_type = "mpt", .more = read_mpt, .norm = Norm::layer, .ffn = gelu, .defaults = tied, .four_times = true},
    {.model_type = "opt", .more = read_opt, .norm = Norm::layer, .ffn = gelu, .all_bias = "enable_bias", .defaults = opt},
    {.model_type = "persimmon", .more = read_biased, .norm = Norm::layer, .ffn = gelu, .qk_norm = QkNorm::head},
    {.model_type = "starcoder2", .norm = Norm::layer, .ffn = gelu, .all_bias = "use_bias", .defaults = starcoder2},

    // parts that read the same
    {.model_type = "codegen", .read = read_gptj, .four_times = true},
    {"cohere", read_cohere},
    {"cohere2", read_cohere2},
    {.model_type = "falcon", .read = read_falcon, .four_times = true},
    {"gpt_neox", read_gpt_neox},
    {.model_type = "RefinedWebModel", .read = read_falcon, .four_times = true},
    {.model_type = "gptj", .read = read_gptj, .four_times = true},
    {"phi", read_phi},
    {"stablelm", read_stablelm},
    {"stablelm_epoch", read_stablelm},

    // experts behind grouped queries
    {.model_type = "bailing_moe", .more = read_fine_experts, .qk_norm = QkNorm::head, .qk_key = "use_qk_norm", .bias = "use_qkv_bias"},
    {"bailing_moe_v2", read_normed_fine},
    {.model_type = "deepseek", .more = read_fine_experts},
    {"dots1", read_normed_fine},
    {.model_type = "ernie4_5_moe", .more = read_ernie, .all_bias = "use_bias"},
    {.model_type = "flex_olmo", .more = read_all_experts, .qk_norm = QkNorm::full},
    {"glm4_moe", read_glm4_moe},
    {"glm4v_moe_text", read_glm4_moe},
    {.model_type = "gpt_oss", .more = read_gpt_oss, .full_every = 2},
    {.model_type = "granitemoe", .more = read_granite_moe},
    {.model_type = "granitemoeshared", .more = read_granite_moe},
    {.model_type = "hunyuan_v1_moe", .more = read_hunyuan, .qk_norm = QkNorm::head, .qk_key = "use_qk_norm", .defaults = normed},
    {.model_type = "minimax_m2", .more = read_minimax_m2, .qk_norm = QkNorm::full},
    {.model_type = "mixtral", .more = read_all_experts},
    {.model_type = "olmoe", .more = read_all_experts, .qk_norm = QkNorm::full},
    {.model_type = "PanguProMoE", .more = read_one_shared, .defaults = biased},
    {.model_type = "phimoe", .more = read_all_experts, .norm = Norm::layer},
    {.model_type = "qwen2_moe", .more = read_one_shared, .windows = Windows::late, .defaults = biased},
    {.model_type = "qwen3_moe", .more = read_qwen3_moe, .qk_norm = QkNorm::head, .windows = Windows::late},
    {.model_type = "qwen3_vl_moe_text", .more = read_qwen3_moe, .qk_norm = QkNorm::head, .windows = Windows::late},
    {.model_type = "solar_open", .more = read_fine_experts},

    // other attention
    {.model_type = "minimax", .more = read_minimax_m1},
    {.model_type = "minimax_m1", .more = read_minimax_m1},
    {.model_type = "minimax_text_01", .more = read_minimax_m1},
    {.model_type = "qwen3_next", .more = read_qwen3_next, .qk_norm = QkNorm::head, .windows = Windows::late},
    {"deepseek_v2", read_latent_moe},
    {"deepseek_v3", read_deepseek_v3},
    {"deepseek_v32", read_sparse_moe},
    {"glm4_moe_lite", read_deepseek_v3},
    {"glm_moe_dsa", read_sparse_moe},
    {"kimi_k2", read_deepseek_v3},
    {"pangu", read_pangu},
    {"pangu_ultra_moe", read_pangu},
    {"telechat3_moe", read_deepseek_v3},
};
// clang-format on

constexpr RefusedFamilies refused[] = {
    {"tokens that see those behind them",
     "albert bert big_bird camembert deberta deberta-v2 distilbert electra ernie esm eurobert "
     "longformer megatron-bert modernbert mpnet new nomic_bert roberta roformer xlm xlm-roberta"},
    {"a dense feed-forward beside its experts", "arctic"},
    {"Mamba layers",
     "bamba falcon_h1 falcon_mamba granitemoehybrid hymba jamba mamba mamba2 nemotron_h plamo2 "
     "zamba zamba2"},
    {"an encoder and a decoder",
     "bart longt5 m2m_100 marian mbart mt5 nllb-moe pegasus prophetnet speech_to_text "
     "switch_transformers t5 t5gemma umt5 whisper"},
    {"norms inside its attention and feed-forward", "bitnet"},
    {"sections of its own for attention and experts", "dbrx"},
    {"layers that differ", "deci nemotron-nas openelm"},
    {"compressed attention and hyper-connections", "deepseek_v4"},
    {"differential attention", "diffllama"},
    {"a loss of diffusion, whose tokens see those behind them", "dream llada sdar"},
    {"a vision part beside a text_config, which is not here", "gemma3 qwen3_5 qwen3_5_moe"},
    {"embeddings of each layer and shared keys", "gemma3n gemma3n_text"},
    {"other heads in layers without a window than in those with one",
     "gemma4 gemma4_text mimo_v2_flash step3p5"},
    {"windows in every second layer, of which the first has none", "gpt_neo"},
    {"keys and values that layers share", "hunyuan"},
    {"layers that are not published", "hy_v3"},
    {"experts in its attention", "jetmoe"},
    {"delta attention that decays each channel", "kimi_linear"},
    {"layers of convolutions", "lfm2 lfm2_moe"},
    {"attention in chunks", "llama4 llama4_text"},
    {"experts that compute nothing", "longcat_flash"},
    {"an indexer and attention to chosen keys", "minimax_m3"},
    {"cross attention to images", "mllama mllama_text_model"},
    {"layers that run several times", "ouro"},
    {"attention in blocks of its own", "phi3small"},
    {"layers that are not tabulated", "qwen3_5_moe_text qwen3_5_text"},
    {"recurrent layers", "recurrent_gemma rwkv rwkv5 rwkv6 rwkv7 xlstm"},
    {"queries that share one key of their own form", "step3_text"},
    {"a memory over segments", "transfo-xl xlnet"}};

}  // namespace

std::span<const Family> families() { return table; }
std::span<const RefusedFamilies> refused_families() { return refused; }

}  // namespace stepcast::hugging_face
