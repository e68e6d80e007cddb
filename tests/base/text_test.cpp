#include "stepcast/base/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

namespace stepcast {
namespace {

TEST(Text, NumbersAreDecimalAndFinite) {
  EXPECT_EQ(parse_number("12"), 12.0);
  EXPECT_EQ(parse_number("-0.5"), -0.5);
  EXPECT_EQ(parse_number("1e9"), 1e9);
  EXPECT_EQ(parse_number(".5"), 0.5);
  for (const char* wrong : {"", "-", "+1", "nan", "NaN", "inf", "-inf", "infinity", "0x10", "1_000",
                            "1,5", "1e999", " 1", "1 ", "1 2", "e5", "--1", "12abc"}) {
    EXPECT_FALSE(parse_number(wrong)) << wrong;
  }
}

TEST(Text, CountsAreWholeAndTakeSuffixes) {
  EXPECT_EQ(parse_count("4096"), 4096.0);
  EXPECT_EQ(parse_count("40Mi"), 41943040.0);
  EXPECT_EQ(parse_count("1.5Ki"), 1536.0);
  EXPECT_EQ(parse_count("1e6"), 1e6);
  EXPECT_EQ(parse_count("9007199254740992"), 0x1p53);
  for (const char* wrong :
       {"7.5", "1e17", "9007199254740994", "40MiB", "4 Mi", "2k", "2K", "k", "nan", "1m", "0x8"}) {
    EXPECT_FALSE(parse_count(wrong)) << wrong;
  }
  EXPECT_NE(two_counts("100k").find("allowed: 100000 or 100Ki"), std::string::npos);
  EXPECT_NE(two_counts("1.5K").find("allowed: 1500 or 1.5Ki"), std::string::npos);
  for (const char* plain : {"8", "8Ki", "k", "8kB", "1e6"}) EXPECT_EQ(two_counts(plain), "");
}

struct Row {
  const char* text;
  double si;
};

TEST(Text, UnitsOfBytes) {
  for (const auto& [text, si] : {Row{"0B", 0}, Row{"64GiB", 64.0 * 1073741824}, Row{"200MB", 2e8},
                                 Row{"8b", 1}, Row{"1kB", 1e3}, Row{"1KB", 1e3}, Row{"1KiB", 1024},
                                 Row{"1 TiB", 0x1p40}, Row{"8Gb", 1e9}, Row{"8Gib", 0x1p30}}) {
    EXPECT_EQ(parse_bytes(text).value_or(Bytes{-1}).value(), si) << text;
  }
  for (const char* wrong : {"64", "64G", "64GiBs", "64gb", "GiB", "64 GiB ", "64  GiB", "64GB/s",
                            "1ki B", "1mB", "nanB"}) {
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
  }
}

TEST(Text, PrefixesOfUnits) {
  const char* const decimal = "kMGTPE";
  for (int i = 0; i < 6; ++i) {
    const std::string letter(1, decimal[i]);
    const double thousand = std::pow(1000, i + 1), kibi = std::ldexp(1, 10 * (i + 1));
    const std::string binary = (i == 0 ? "K" : letter) + "i";
    EXPECT_EQ(parse_bytes("3" + letter + "B")->value(), 3 * thousand) << letter;
    EXPECT_EQ(parse_bytes("3" + binary + "B")->value(), 3 * kibi) << binary;
    EXPECT_EQ(parse_flops_rate("3" + letter + "FLOPS")->value(), 3 * thousand) << letter;
  }
}

TEST(Text, UnitsOfBandwidth) {
  for (const auto& [text, si] : {Row{"400Gbps", 5e10}, Row{"1.6TB/s", 1.6e12}, Row{"8Gb/s", 1e9},
                                 Row{"1GiB/s", 0x1p30}, Row{"8bps", 1}, Row{"-1GB/s", -1e9}}) {
    EXPECT_EQ(parse_bandwidth(text).value_or(BytesPerSecond{-7}).value(), si) << text;
  }
  for (const char* wrong : {"400", "400G", "400GB", "400GBps", "400Gbit", "400GHz", "400gbps"}) {
    EXPECT_FALSE(parse_bandwidth(wrong)) << wrong;
  }
}

TEST(Text, UnitsOfTime) {
  for (const auto& [text, si] :
       {Row{"1.5us", 1.5e-6}, Row{"60us", 60e-6}, Row{"5ns", 5e-9}, Row{"12.31s", 12.31},
        Row{"200ms", 0.2}, Row{"15min", 900}, Row{"2h", 7200}, Row{"1d", 86400}, Row{"0s", 0}}) {
    EXPECT_EQ(parse_seconds(text).value_or(Seconds{-1}).value(), si) << text;
  }
  for (const char* wrong : {"1.5", "1.5usec", "1 m", "1S", "s", "1e400s", "1ks"})
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
}

TEST(Text, UnitsOfComputeRate) {
  EXPECT_EQ(parse_flops_rate("376TFLOPS")->value(), 376e12);
  EXPECT_EQ(parse_flops_rate("1PFLOP/s")->value(), 1e15);
  for (const char* wrong : {"376", "376T", "376TFLOP", "376tflops"})
    EXPECT_FALSE(parse_flops_rate(wrong)) << wrong;
}

TEST(Text, ShortestReadsBackAsTheSameDouble) {
  EXPECT_TRUE(rc::check([](std::uint64_t bits) {
    const auto value = std::bit_cast<double>(bits);
    RC_PRE(std::isfinite(value));
    RC_ASSERT(parse_number(shortest(value)) == value);
  }));
}

TEST(Text, ForPeopleThreeDigitsAndAPrefix) {
  EXPECT_EQ(human(Seconds{3.947}), "3.95 s");
  EXPECT_EQ(human(Seconds{0.0121}), "12.1 ms");
  EXPECT_EQ(human(Seconds{0}), "0.00 s");
  EXPECT_EQ(human(Seconds{999.99}), "1000 s");
  EXPECT_EQ(human(Seconds{7200}), "2.00 h");
  EXPECT_EQ(human(Seconds{3.5e9}), "9.72e+05 h");
  EXPECT_EQ(human(Seconds{1e300}), "2.78e+296 h");
  EXPECT_EQ(human(Bytes{64.0 * 1073741824}), "64.0 GiB");
  EXPECT_EQ(human(Bytes{-2048}), "-2.00 KiB");
  EXPECT_EQ(human(BytesPerSecond{25e9}), "25.0 GB/s");
  EXPECT_EQ(human(FlopsPerSecond{353.9e12}), "354 TFLOPS");
}

TEST(Text, TheUnitChangesWhereANumberOfThatUnitBegins) {
  const auto units = [](auto value, double step, const std::vector<std::string>& names) {
    using Value = decltype(value);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double one = value.value() * std::pow(step, static_cast<double>(i));
      EXPECT_EQ(human(Value{one}), "1.00 " + names[i]);
      EXPECT_EQ(human(Value{0.9996 * one}), "1.00 " + names[i]);
      EXPECT_EQ(human(Value{20 * one}), "20.0 " + names[i]);
      if (i == 0) continue;
      EXPECT_EQ(human(Value{0.9994 * one}).find("1.00"), std::string::npos) << names[i];
    }
  };
  units(Seconds{1e-9}, 1e3, {"ns", "us", "ms", "s"});
  units(Bytes{1}, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
  units(BytesPerSecond{1}, 1e3, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"});
  units(FlopsPerSecond{1e6}, 1e3, {"MFLOPS", "GFLOPS", "TFLOPS", "PFLOPS", "EFLOPS"});
  EXPECT_EQ(human(Seconds{3600}), "1.00 h");
  EXPECT_EQ(human(Seconds{3590}), "3590 s");
  EXPECT_EQ(human(FlopsPerSecond{1}), "1.00 FLOPS");
  EXPECT_EQ(human(Bytes{0}), "0.00 B");
}

TEST(Text, ThreeDigitsRoundBeforeTheyAreCounted) {
  EXPECT_EQ(human(Bytes{9.994}), "9.99 B");
  EXPECT_EQ(human(Bytes{9.996}), "10.0 B");
  EXPECT_EQ(human(Bytes{99.94}), "99.9 B");
  EXPECT_EQ(human(Bytes{99.96}), "100 B");
  EXPECT_EQ(human(Seconds{99'999 * 3600.0}), "99999 h");
  EXPECT_EQ(human(Seconds{100'000 * 3600.0}), "1.00e+05 h");
}

TEST(Text, ASlipIsLessThanAThirdOfTheWord) {
  const std::vector<std::string> words{"abcdefghijkl", "xy"};
  EXPECT_EQ(nearest("abcdefgh1234", words), "abcdefghijkl");  // four of twelve
  EXPECT_FALSE(nearest("abcdefg12345", words));               // five
  EXPECT_EQ(nearest("badcefghijkl", words), "abcdefghijkl");  // two swaps
  EXPECT_EQ(nearest("xz", words), "xy");
  EXPECT_EQ(nearest("xyzz", words), "xy");  // two may be added to a short word
  EXPECT_FALSE(nearest("xyzzz", words));
  const std::string longest(64, 'a');
  const std::vector<std::string> one{longest};
  EXPECT_EQ(nearest(longest.substr(1) + "b", one), longest);
  EXPECT_FALSE(nearest(longest + "b", one));
  const std::vector<std::string> equal{"ab1", "ab2"};
  EXPECT_EQ(nearest("ab3", equal), "ab1");  // the first of the nearest
}

TEST(Text, NearestIsASlipOfTheFingerAway) {
  const std::vector<std::string> words{"gpipe", "1f1b", "interleaved_1f1b", "micro_batch", "tp"};
  EXPECT_EQ(nearest("1f2b", words), "1f1b");
  EXPECT_EQ(nearest("gpiep", words), "gpipe");
  EXPECT_EQ(nearest("micro_batchs", words), "micro_batch");
  EXPECT_EQ(nearest("interleved_1f1b", words), "interleaved_1f1b");
  EXPECT_FALSE(nearest("zero_bubble", words));
  EXPECT_FALSE(nearest("xy", words));
  EXPECT_FALSE(nearest(std::string(100000, 'a'), words));
}

}  // namespace
}  // namespace stepcast
