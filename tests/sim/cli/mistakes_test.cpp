#include <gtest/gtest.h>

#include "shell.hpp"

// Typical first mistakes, with what the message has to hold so that the next try is right. They
// were collected from first hours with the program; a new one is a line here.
namespace stepcast {
namespace {

using test::Ran;
using test::stepcast_run;
using test::TemporaryFiles;

struct Mistake {
  const char* arguments;
  const char* help;  ///< in the message; one of several, apart by |
};

bool holds(const std::string& text, const std::string& help) {
  for (std::size_t from = 0; from <= help.size();) {
    const std::size_t end = std::min(help.find('|', from), help.size());
    if (text.find(help.substr(from, end - from)) != std::string::npos) return true;
    from = end + 1;
  }
  return false;
}

void helps(const std::vector<Mistake>& mistakes) {
  const TemporaryFiles files;
  for (const Mistake& mistake : mistakes) {
    const Ran ran = stepcast_run(files, mistake.arguments);
    EXPECT_NE(ran.code, 0) << mistake.arguments;
    EXPECT_TRUE(holds(ran.err, mistake.help))
        << mistake.arguments << " should say " << mistake.help << ", but says\n"
        << ran.err;
  }
}

TEST(Mistakes, KeysFirst) {
  helps({
      {"run llama2-7b-8.yaml --set tp=4", "parallel.tp"},
      {"run llama2-7b-8.yaml --set parallel.tp=3", "must divide|allowed"},
      {"run llama2-7b-8.yaml --set parallel.tp=16", "allowed"},
      {"run llama2-7b-8.yaml --set parallel.pp=64", "allowed"},
      {"run llama2-7b-8.yaml --set parallel.tp 4", "has no '='"},
      {"run llama2-7b-8.yaml --set training.precision=fp8", "fp8_mixed|fp8"},
      {"run llama2-7b-8.yaml --set training.batch=64", "global_batch|micro_batch"},
      {"run llama2-7b-8.yaml --set training.seq_length=8192", "sequence?"},
      {"run llama2-7b-8.yaml --set training.recompute=yes", "none, selective, full"},
      {"run llama2-7b-8.yaml --set training.recompute=True", "none, selective, full"},
      {"run llama2-7b-8.yaml --set parallel.sequence_parallel=1", "true"},
      {"run llama2-7b-8.yaml --set cluster.devices=12", "cluster.node.devices"},
      {"run llama2-7b-8.yaml --set cluster=dgx-h100", "--cluster dgx-h100"},
      {"run llama2-7b-8.yaml --set model=llama2-70b", "--model llama2-70b"},
      {"run llama2-7b-8.yaml --set schedule.pipeline=interleaved", "interleaved_1f1b"},
      {"run llama2-7b-8.yaml --set schedule.pipeline=1F1B", "1f1b"},
      {"run llama2-7b-8.yaml --set training.precision=fp32", "did you mean bf16"},
      {"run llama2-7b-8.yaml --set parallel.world_size=16", "did you mean cluster.devices"},
      {"run llama2-7b-8.yaml --set devices=16", "did you mean cluster.devices"},
      {"run llama2-7b-8.yaml --set framework.name=megatron", "--framework NAME"},
      {"run llama2-7b-8.yaml --memory", "cluster.device.memory.capacity"},
      {"plan what-if/deepseek-v3-living.yaml", "--set 'moe.placement=contiguous'"},
      {"plan what-if/deepseek-v3-living.yaml --set moe.routing=null", "10:14: moe.placement: is"},
      {"plan what-if/telechat3-105b-slow-host.yaml", "--set 'plan.finalists=2'"},
      {"run llama2-7b-8.yaml --size 16", "--devices or --model"},
  });
}

TEST(Mistakes, KeysSecond) {
  helps({
      {"run llama2-7b-8.yaml --set training.micro_batch=3", "allowed|divide"},
      {"run llama2-7b-8.yaml --set training.global_batch=7", "allowed|divide"},
      {"run llama2-7b-8.yaml --set training.sequence=4k", "allowed: 4000 or 4Ki"},
      {"scale llama2-7b-8.yaml --devices 1k,2k", "allowed: 1000 or 1Ki"},
      {"operator matmul --m 4k --k 8 --n 8 --cluster ideal", "allowed: 4000 or 4Ki"},
      {"operator matmul --m 8 --k 8 --n 8 --cluster ideal --dtype fp8", "did you mean --type?"},
      {"run llama2-7b-8.yaml --set parallel_tp=2", "did you mean parallel.tp?"},
      {"run llama2-7b-8.yaml --set cluster.device.memory.capacity=80", "unit|GiB"},
      {"run llama2-7b-8.yaml --set cluster.device.memory.bandwidth=3.35TB", "TB/s|B/s"},
      {"run llama2-7b-8.yaml --set cluster.network.nic.bandwidth=400G", "Gbps|Gb/s"},
      {"run llama2-7b-8.yaml --set moe.top_k=2", "model.moe"},
      {"run llama2-7b-8.yaml --set parallel.ep=8", "experts"},
      {"run llama2-7b-8.yaml --set parallel.vpp=2", "pp"},
      {"run llama2-7b-8.yaml --set parallel.zero=4", "0 to 3|allowed"},
      {"plan llama2-7b-8.yaml --set 'parallel.tp=[1,2]' --set", "--set"},
      {"run llama2-7b-8.yaml --set training.attention=flash", "flash_2"},
      {"run llama2-7b-8.yaml --set runtime.dispatch=graph", "graph_sink"},
      {"run llama2-7b-8.yaml --set communication.overlap=true", "gradient"},
      {"run llama2-7b-8.yaml --set parallel.dp=2", "auto|allowed"},
  });
}

TEST(Mistakes, Presets) {
  helps({
      {"run llama2-7b-8.yaml --cluster h100", "dgx-h100"},
      {"run llama2-7b-8.yaml --cluster 910C", "stepcast list 910C"},
      {"run llama2-7b-8.yaml --cluster atlas-800t-a3", "atlas-900-a3"},
      {"run llama2-7b-8.yaml --model qwen3-235b", "qwen3-235b-a22b"},
      {"run llama2-7b-8.yaml --model llama-2-7b", "llama2-7b.yaml"},
      {"run llama2-7b-8.yaml --framework megatron", "megatron"},
      {"run llama2-7b-8.yaml --framework Megatron-Core", "megatron-core"},
      {"list h101", "allowed: part of a preset"},
      {"collective allreduce --cluster clusters/dgx-h100.yaml --ranks 8 --size 64MiB",
       "all_reduce"},
      {"model models/llama2-7.yaml", "llama2-7b"},
      {"new --model llama2-7b --cluster dgx-h100", "--devices"},
      {"new --model llama2-70b --cluster dgx-h100 --devices 4", "8"},
  });
}

TEST(Mistakes, CommandsFirst) {
  helps({
      {"run llama2-7b.yaml", "llama2-7b-8.yaml"},
      {"run llama2-7b-8", "llama2-7b-8.yaml"},
      {"run models/llama2-7b.yaml", "is a model"},
      {"run clusters/dgx-h100.yaml", "is a cluster"},
      {"run plans/gpt3-175b-512.yaml", "stepcast plan"},
      {"sweep llama2-7b-8.yaml", "give a sweep"},
      {"run", "SCENARIO|scenario is required"},
      {"runn llama2-7b-8.yaml", "run"},
      {"run llama2-7b-8.yaml --devices 16", "--devices|cluster.devices"},
      {"run llama2-7b-8.yaml --jsn x", "did you mean --json"},
      {"run llama2-7b-8.yaml --json x.csv", ".json"},
      {"run llama2-7b-8.yaml --trace -", "path of a file"},
      {"run llama2-7b-8.yaml --json nowhere/x.json", "folder"},
      {"scale llama2-7b-8.yaml", "--devices"},
      {"scale llama2-7b-8.yaml --devices 8-64", "8..64|allowed"},
      {"check llama2-7b-8.yaml", "expect"},
  });
}

TEST(Mistakes, CommandsSecond) {
  helps({
      {"diff llama2-7b-8.yaml", "--set"},
      {"compare llama2-7b-8.yaml", "--set"},
      {"export llama2-7b-8.yaml --to megatronlm", "megatron"},
      {"keys flashattn", "attention|is in no key"},
  });
}

TEST(Mistakes, CommandsThird) {
  helps({
      {"hlep", "did you mean help"},
      {"llama2-7b-8.yaml", "did you mean stepcast run llama2-7b-8.yaml"},
      {"new --model llama2-7b --cluster dgx-h100 --gpus 8", "did you mean --devices"},
      {"new llama2-7b dgx-h100 8", "Example: stepcast new --model"},
      {"run llama2-7b", "has that name: 'stepcast new --model llama2-7b --cluster CLUSTER"},
      {"run dgx-h100", "has that name: 'stepcast new --model MODEL --cluster dgx-h100"},
      {"run llama2-7b-8.yaml --gpus 16", "--devices or --set cluster.devices=VALUE"},
      {"run llama2-7b-8.yaml --batch 16", "--set training.global_batch=VALUE"},
      {"run llama2-7b-8.yaml -o x.json", "did you mean --json"},
      {"--json - run llama2-7b-8.yaml", "is before the command"},
      {"schedule 1f1b --pp 4 --mb 8", "did you mean --micro-batches"},
      {"scale llama2-7b-8.yaml --devices 8:64", "allowed: 128..8192"},
      {"list gpus", "did you mean clusters"},
      {"keys batchsize", "did you mean global_batch or micro_batch"},
  });
}

TEST(Mistakes, SettingsThird) {
  helps({
      {"run llama2-7b-8.yaml --set parallel.tp=2,parallel.pp=2", "a --set of its own"},
      {"run llama2-7b-8.yaml --set parallel.tp: 2", "has no '='"},
      {"run llama2-7b-8.yaml --set training.sequence=8,192", "thousands are written 8192"},
      {"plan llama2-7b-8.yaml --set parallel.tp=1,2", "is written [1,2]"},
      {"plan llama2-7b-8.yaml --set parallel.tp=serach",
       "takes a list of them and the word search"},
      {"plan llama2-7b-8.yaml --set training.sequence=[1,2]",
       "as plan.search: {training.sequence: [...]}"},
      {"run llama2-7b-8.yaml --cluster H100", "dgx-h100"},
      {"run llama2-7b-8.yaml --cluster 'DGX H100'", "did you mean clusters/dgx-h100.yaml"},
      {"run llama2-7b-8.yaml --model meta-llama/Llama-2-7b", "did you mean models/llama2-7b.yaml"},
      {"run llama2-7b-8.yaml --framework mindspeed", "did you mean mindspeed-2.3?"},
      {"run llama2-7b-8.yaml --set parallel.tensor_parallel=2", "did you mean tp?"},
      {"run llama2-7b-8.yaml --set parallel.tensor_model_parallel_size=2", "did you mean tp?"},
      {"run llama2-7b-8.yaml --set training.batch_size=2", "global_batch or micro_batch"},
      {"run llama2-7b-8.yaml --set cluster={devices: 16, node: none}", "with blanks is quoted"},
      {"run llama2-7b-8.yaml --cluster no --set parallel.tp=x", "parallel.tp: is 'x', allowed: a"},
      {"run llama2-7b-8.yaml --set training.sequence=*1.5", "'*=1.5' multiplies"},
  });
}

TEST(Mistakes, SettingsAndEdits) {
  helps({
      {"run llama2-7b-8.yaml --framework megatron-core-0.15", "did you mean megatron-core-0.14?"},
      {"run llama2-7b-8.yaml --set model.size=7b",
       "another model is --model NAME or extends: NAME"},
      {"run telechat3-36b-2048.yaml --set parallel.vpp=1", "allowed: vpp >= 2, or 1f1b"},
      {"new --model llama2-7b --cluster dgx-h100 --devices 8 -o x.json", "writes .yaml"},
      {"edit llama2-7b-8.yaml --set paralel.tp=2", "did you mean parallel?"},
      {"edit llama2-7b-8.yaml --set tp=2", "did you mean parallel.tp?"},
      {"edit llama2-7b-8.yaml --set 'parallel={tpp: 2}'", "did you mean tp?"},
      {"edit llama2-7b-8.yaml --set parallel.tp=two", "allowed: a whole number"},
      {"edit models/llama2-7b.yaml --set hiden=2", "did you mean hidden?"},
      {"edit plans/gpt3-175b-512.yaml --set plan.shortlst=2", "did you mean shortlist?"},
  });
}

TEST(Mistakes, CommandsFourth) {
  helps({
      {"schedule 1f1b 4 8", "stepcast schedule zb_h1 --pp 4 --micro-batches 8"},
      {"memory llama2-7b-8.yaml", "did you mean run?"},
      {"run q.yml", "or a shipped one, see stepcast list"},
      {"llama2-7b-8.yaml run", "allowed: stepcast run llama2-7b-8.yaml"},
      {"run llama2-7b-8.yaml llama3-70b-dgx-h100.yaml", "is a second file; stepcast compare A B"},
      {"run llama2-7b-8.yaml parallel.tp=4", "did you mean --set parallel.tp=4?"},
      {"compare llama2-7b-8.yaml parallel.tp=4", "did you mean --set parallel.tp=4?"},
      {"scale llama2-7b-8.yaml --devices 8 16", "a list has commas without blanks"},
      {"report llama2-7b-8.yaml", "the option --report of stepcast run"},
      {"trace llama2-7b-8.yaml", "the option --trace of stepcast run"},
      {"run llama2-7b-8.yaml --svg x.svg", "but of stepcast explain, scale, schedule"},
      {"run llama2-7b-8.yaml --nodes 4", "did you mean --devices or --set cluster.devices"},
      {"run llama2-7b-8.yaml --report x.pdf", "writes .html"},
      {"list --clusters", "did you mean stepcast list clusters?"},
      {"serve llama2-7b-8.yaml", "its page finds a scenario"},
      {"schedule 1f1b --stages 4", "did you mean --pp?"},
      {"new --model llama-3.1-8b --cluster dgx-h100 --devices 8", "models/llama3.1-8b.yaml?"},
      {"new --model llama2-7b --cluster dgx-h100 --devices 12", "--devices: is 12"},
  });
}

TEST(Mistakes, SettingsFourth) {
  helps({
      {"run llama2-7b-8.yaml --cluster nvidia", "See stepcast list nvidia"},
      {"run llama2-7b-8.yaml --cluster 8xH100", "clusters/dgx-h100.yaml?"},
      {"run llama2-7b-8.yaml --cluster H100x64", "clusters/dgx-h100.yaml?"},
      {"run llama2-7b-8.yaml --cluster gaudi", "see stepcast list clusters"},
      {"run llama2-7b-8.yaml --set parallel.tp=[8]",
       "one value is wanted, 8: several are for plans"},
      {"run llama2-7b-8.yaml --set 'cluster.devices=[8,16]'", "one value is wanted: several are"},
      {"run llama2-7b-8.yaml --set parallel.sp=true", "did you mean sequence_parallel?"},
      {"run llama2-7b-8.yaml --set training.precision=bfloat16", "did you mean bf16?"},
      {"run llama2-7b-8.yaml --set 'training.sequence = 8192'", "has a blank before '='"},
      {"run llama2-7b-8.yaml --set model.num_layers=30", "did you mean layers?"},
      {"run llama2-7b-8.yaml --set model.experts=8", "did you mean model.moe.experts?"},
      {"run llama2-7b-8.yaml --set training.grad_accum=4", "did you mean global_batch?"},
      {"run llama2-7b-8.yaml --set cluster.nodes=2", "did you mean devices?"},
      {"run llama2-7b-8.yaml --set cluster.device=h100", "comes with its cluster, --cluster NAME"},
      {"run llama2-7b-8.yaml --set moe.experts=8", "did you mean model.moe.experts?"},
      {"run llama2-7b-8.yaml --set schedule.pipeline=DualPipeV", "did you mean dualpipe_v?"},
      {"run llama2-7b-8.yaml --set schedule=1f1b", "did you mean schedule.pipeline?"},
      {"import llama2-7b-8.yaml", "did you mean stepcast run llama2-7b-8.yaml?|does not exist"},
  });
}

/// A first file, with one place in it changed.
struct WrongFile {
  const char *from, *to;
  const char* help;
};

TEST(Mistakes, Files) {
  const TemporaryFiles files;
  const std::string right =
      "stepcast: 1\n"
      "cluster: {extends: clusters/dgx-h100.yaml, devices: 64}\n"
      "model: {extends: models/llama3-8b.yaml}\n"
      "parallel:\n"
      "  tp: 8\n"
      "  pp: 2\n"
      "training: {sequence: 8192, global_batch: 64, micro_batch: 1}\n"
      "schedule: {pipeline: 1f1b}\n";
  const WrongFile all[] = {
      {"  tp: 8", "\ttp: 8", "5:1: is indented with a tab, allowed: blanks"},
      {"  pp: 2", "   pp: 2", "allowed: keys of one mapping in one column"},
      {"micro_batch: 1}", "micro_batch: 1", "allowed: a } or ] for each { or [ above"},
      {"  tp: 8\n  pp: 2", "  tp:8", "with a blank behind each colon"},
      {"sequence: 8192", "sequence:8192", "training.sequence: has no blank behind its colon"},
      {"{extends: models/llama3-8b.yaml}", "llama3-8b", "such as {extends: models/llama3-8b.yaml}"},
      {"{extends: clusters/dgx-h100.yaml, devices: 64}", "dgx-h100",
       "such as {extends: clusters/dgx-h100.yaml}"},
      {"models/llama3-8b.yaml", "llama3-8B", "did you mean models/llama3-8b.yaml"},
      {"  tp: 8", "  tp: '8'", "is the quoted text '8', allowed: a whole number"},
      {"  tp: 8", "  tp: [8]", "is a plan file"},
      {"micro_batch: 1", "micro_batch: 1, tp: 4", "did you mean parallel.tp"},
      {"  tp: 8", "  tensor_model_parallel_size: 8", "did you mean tp?"},
      {"global_batch", "global_batch_size", "did you mean global_batch"},
      {"64}", "64, device: {memory: {capacity: 80}}}", "without a unit, allowed: a size"},
      {"micro_batch: 1", "micro_batch: 16, recompute: yes", "allowed: none, selective, full"},
      {"  tp: 8", "  tp: 3", "must divide the 64 devices, allowed"},
  };
  for (const WrongFile& wrong : all) {
    std::string text = right;
    text.replace(text.find(wrong.from), std::string_view(wrong.from).size(), wrong.to);
    const Ran ran = stepcast_run(files, "run " + files.write("first.yaml", text));
    EXPECT_EQ(ran.code, 2) << wrong.to;
    EXPECT_TRUE(holds(ran.err, wrong.help))
        << wrong.to << " should say " << wrong.help << ", but says\n"
        << ran.err;
  }
}

}  // namespace
}  // namespace stepcast
