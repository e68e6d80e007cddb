#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "stepcast/sim/calibrate/profile_fit.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

ClusterSpec preset() {
  return read_cluster("clusters/atlas-800t-a2.yaml", {}, default_search_path({}));
}

/// The preset with numbers of our own, which a fit must find again.
ClusterSpec truth() {
  ClusterSpec c = preset();
  c.device.efficiency.matmul.peak = 0.71;
  c.device.efficiency.matmul.fill = 150;
  c.device.efficiency.grouped_matmul.peak = 0.52;
  c.device.efficiency.attention.fused.forward.vector = 81;
  c.device.efficiency.attention.fused.backward.vector = 190;
  c.device.efficiency.memory.peak = 0.63;
  c.device.launch.vector = Seconds{3.4e-6};
  std::get<MeshFabric>(c.node_fabric).efficiency = 0.55;
  c.network.nic.efficiency = 0.81;
  c.collectives.node_step_latency = Seconds{9e-6};
  c.collectives.step_latency = Seconds{27e-6};
  return c;
}

/// Writes kernels one behind the other, as a device with the true numbers runs them.
class Kernels {
 public:
  Kernels(const ClusterSpec& cluster) : cluster_{cluster} {}
  void add(const std::string& type, const std::string& core, const std::string& in,
           const std::string& out, Work work, double flops, double elements) {
    Sample sample;
    sample.op = {type, work, Flops{flops}, Bytes{2 * elements}, LaunchClass::matmul};
    const double duration = 1e6 * sample_time(sample, cluster_).value();
    for (int repeat = 0; repeat < 3; ++repeat) {
      text_ += fmt::format(
          "0,1,2,3,op{},{},dynamic,{},{:.4f}\t,{:.6f},0,20,0,N/A,\"{}\",{},"
          "FORMAT_ND,\"{}\",DT_BF16,FORMAT_ND,N/A\n",
          repeat, type, core, start_, duration, in,
          in.find(';') == std::string::npos ? "DT_BF16" : "DT_BF16;DT_BF16", out);
      start_ += duration + 1e6 * cluster_.device.launch.vector.value();
    }
  }
  std::string text() const {
    return "Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start "
           "Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input "
           "Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output "
           "Formats,Context ID\n" +
           text_;
  }

 private:
  const ClusterSpec& cluster_;
  std::string text_;
  double start_ = 1000;
};

std::string kernel_details(const ClusterSpec& cluster) {
  Kernels k{cluster};
  for (const double size : {512.0, 1024.0, 2048.0, 4096.0, 8192.0})
    for (const double depth : {256.0, 1024.0, 4096.0})
      k.add("MatMulV3", "AI_CORE", fmt::format("{0:g},{1:g};{1:g},{0:g}", size, depth),
            fmt::format("{0:g},{0:g}", size), MatmulWork{size, size, depth},
            2 * size * size * depth, 2 * size * depth + size * size);
  for (const double m : {512.0, 2048.0})
    k.add("GroupedMatmul", "AI_CORE", fmt::format("{:g},2048;8,2048,4096", 8 * m),
          fmt::format("{:g},4096", 8 * m), GroupedMatmulWork{8, m, 4096, 2048},
          2 * 8 * m * 4096 * 2048, 8 * m * 2048 + 8 * 2048 * 4096 + 8 * m * 4096);
  for (const double s : {2048.0, 8192.0})
    for (const bool backward : {false, true})
      k.add(backward ? "FlashAttentionScoreGrad" : "FlashAttentionScore", "MIX_AIC",
            fmt::format("1,16,{0:g},128;1,16,{0:g},128", s), fmt::format("1,16,{:g},128", s),
            AttentionWork{1, s, s, 16, 128, 128, true, backward},
            (backward ? 2.5 : 1) * s * s * 16 * 2 * 128, 3 * 16 * s * 128);
  for (const double count : {1e6, 1e7, 1e8})
    k.add("Add", "AI_VECTOR_CORE", fmt::format("{0:.0f};{0:.0f}", count),
          fmt::format("{:.0f}", count), MemoryBoundWork{}, 0, 3 * count);
  return k.text();
}

/// Transfers of several sizes over HCCS and RDMA.
std::string communication(const ClusterSpec& cluster) {
  const auto distribution = [&](Sample::Kind kind) {
    std::string text;
    for (const double mb : {0.25, 2.0, 16.0, 64.0}) {
      Sample s;
      s.kind = kind;
      s.bytes = Bytes{mb * 1e6};
      text += fmt::format("{}\"{:g}\": [4, {:.9f}]", text.empty() ? "" : ", ", mb,
                          4e3 * sample_time(s, cluster).value());
    }
    return text;
  };
  return fmt::format(
      "{{\"step1\": {{\"p2p\": {{}}, \"collective\": {{\"hcom_allReduce__1_2_3@77\": {{"
      "\"Communication Time Info\": {{\"Transit Time(ms)\": 1}}, \"Communication Bandwidth Info\": "
      "{{\"HCCS\": {{\"Transit Size(MB)\": 1, \"Size Distribution\": {{{}}}}}, \"RDMA\": {{"
      "\"Size Distribution\": {{{}}}}}, \"PCIE\": {{\"Size Distribution\": {{}}}}}}}}, "
      "\"Total Op Info\": {{}}}}}}}}",
      distribution(Sample::Kind::node_link), distribution(Sample::Kind::network_link));
}

double fitted(const ProfileCalibration& calibration, const std::string& path) {
  for (const FittedValue& v : calibration.values)
    if (path == v.number->path) return v.after;
  ADD_FAILURE() << "nothing fits " << path;
  return 0;
}

void expect_recovered(const ProfileCalibration& calibration, const std::string& path,
                      double value) {
  EXPECT_NEAR(fitted(calibration, path), value, 0.02 * value) << path;
}

TEST(Profile, TheFitFindsTheNumbersBehindTheFiles) {
  const test::TemporaryFiles files;
  files.write("rank0/kernel_details.csv", kernel_details(truth()));
  files.write("rank0/communication.json", communication(truth()));
  files.write("rank0/op_statistic.csv",
              "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max "
              "Time(us),Ratio(%)\n0,MatMulV3,AI_CORE,45,1000,1,1,1,50\n");
  files.write("rank0/step_trace_time.csv",
              "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,"
              "Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\n"
              "0,1,100,20,5,25,7,120,0,20,3\n");
  Profile profile;
  read_profile(files.path("rank0"), profile);
  EXPECT_NEAR(profile.computing, 1e-4, 1e-12);
  const ProfileCalibration c = calibrate_from_profile(profile, preset());
  expect_recovered(c, "device.efficiency.matmul.peak", 0.71);
  expect_recovered(c, "device.efficiency.matmul.fill", 150);
  expect_recovered(c, "device.efficiency.grouped_matmul.peak", 0.52);
  expect_recovered(c, "device.efficiency.attention.fused.forward.vector", 81);
  expect_recovered(c, "device.efficiency.attention.fused.backward.vector", 190);
  expect_recovered(c, "device.efficiency.memory.peak", 0.63);
  expect_recovered(c, "device.launch.vector", 3.4e-6);
  expect_recovered(c, "node.fabric.efficiency", 0.55);
  expect_recovered(c, "network.nic.efficiency", 0.81);
  expect_recovered(c, "collectives.node_step_latency", 9e-6);
  expect_recovered(c, "collectives.step_latency", 27e-6);
  for (const FittedValue& v : c.values) EXPECT_STRNE(v.number->path, "host.step_overhead");
  for (const TypeQuality& q : c.types) EXPECT_LT(q.error_after, 0.02) << q.type;
}

TEST(Profile, CollectiveTablesOfBothToolsAreRead) {
  const test::TemporaryFiles files;
  std::string hccl = "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:\n";
  std::string nccl =
      "# out-of-place\n#       size         count      type   redop    root     time\n";
  for (const double bytes : {1048576.0, 16777216.0, 268435456.0}) {
    Sample s;
    s.kind = Sample::Kind::collective;
    s.call = {CollectiveKind::all_gather, Bytes{bytes}};
    s.ranks = 8;
    hccl += fmt::format("{:.0f} | {:.3f} | 1.0 | success\n", bytes,
                        1e6 * sample_time(s, truth()).value());
    s.call.kind = CollectiveKind::reduce_scatter;
    nccl += fmt::format("{:.0f} {:.0f} float sum -1 {:.3f} 1.0 1.0 0\n", bytes, bytes / 4,
                        1e6 * sample_time(s, truth()).value());
  }
  files.write("all_gather-8.txt", hccl);
  files.write("reduce_scatter-8.txt", nccl);
  Profile profile;
  read_profile(files.path(""), profile);
  ASSERT_EQ(profile.samples.size(), 6U);
  const ProfileCalibration c = calibrate_from_profile(profile, preset());
  expect_recovered(c, "node.fabric.efficiency", 0.55);
  expect_recovered(c, "collectives.node_step_latency", 9e-6);
}

TEST(Profile, TheWrittenClusterIsReadBack) {
  const test::TemporaryFiles files;
  files.write("rank0/kernel_details.csv", kernel_details(truth()));
  Profile profile;
  read_profile(files.path("rank0"), profile);
  const ProfileCalibration c = calibrate_from_profile(profile, preset());
  const std::string path =
      files.write("mine.yaml", profile_yaml(c, "clusters/atlas-800t-a2.yaml", "mine"));
  const ClusterSpec mine = read_cluster(path, {}, default_search_path({}));
  EXPECT_EQ(mine.name, "mine");
  EXPECT_NEAR(mine.device.efficiency.matmul.peak, 0.71, 0.02 * 0.71);
  EXPECT_FALSE(profile_text(c, profile).empty());
}

TEST(Profile, WrongFilesNameTheirLine) {
  const test::TemporaryFiles files;
  files.write("a/op_statistic.csv", "OP Type,Total Time(us)\nMatMul,many\n");
  files.write("b/op_statistic.csv", "OP Type,Total Time(us)\nMatMul\n");
  files.write("c/some.txt", "1 2 3\n");
  files.write("d/communication.json", "[1");
  for (const char* folder : {"a", "b", "c", "d", "e"}) {
    Profile profile;
    EXPECT_THROW(read_profile(files.path(folder), profile), InputError) << folder;
  }
}

}  // namespace
}  // namespace stepcast
