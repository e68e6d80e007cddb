#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <random>

#include "entries.hpp"

// One target: the entry that STEPCAST_FUZZ_ENTRY names (scripts/fuzz sets it).
namespace {

using stepcast::fuzz::NamedEntry;

const NamedEntry& chosen() {
  static const NamedEntry& entry = [&]() -> const NamedEntry& {
    const char* name = std::getenv("STEPCAST_FUZZ_ENTRY");
    for (const NamedEntry& e : stepcast::fuzz::entries())
      if (name != nullptr && std::strcmp(name, e.name) == 0) return e;
    std::fprintf(stderr, "STEPCAST_FUZZ_ENTRY names no entry\n");
    std::exit(2);
  }();
  return entry;
}

std::uint64_t inputs = 0, accepted = 0, parsed = 0;

/// How many inputs got past the parser: what does not says little of the rest.
void tell() {
  const auto part = [](std::uint64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(inputs, 1));
  };
  std::fprintf(stderr, "%s: %llu inputs, %.0f %% past the parser, %.0f %% accepted\n",
               chosen().name, static_cast<unsigned long long>(inputs), part(parsed),
               part(accepted));
}

/// An input may take so long; of processor, so that a busy machine finds nothing.
constexpr double most_seconds = 10;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// How long the target runs, in seconds of processor: a busy machine tries as much as an idle one.
double budget() {
  const char* given = std::getenv("STEPCAST_FUZZ_SECONDS");
  return given == nullptr ? std::numeric_limits<double>::infinity() : std::strtod(given, nullptr);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::atexit(tell);
  const char* folder = std::getenv("STEPCAST_FUZZ_SEEDS");
  if (folder == nullptr || chosen().made == nullptr) return 0;
  int number = 0;
  for (const std::string& seed : chosen().made())
    std::ofstream(std::string(folder) + "/seed" + std::to_string(number++), std::ios::binary)
        << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const double begin = processor_seconds();
  ++inputs;
  parsed += chosen().parse(text) ? 1 : 0;
  accepted += chosen().run(text) ? 1 : 0;
  if (const double spent = processor_seconds() - begin; spent > most_seconds) {
    std::fprintf(stderr, "too slow: %.1f s of processor\n", spent);
    std::abort();
  }
  static const double most = budget();
  if (processor_seconds() > most) {
    tell();
    std::_Exit(0);  // libFuzzer takes any other end for a finding
  }
  return 0;
}

/// Bytes rarely make YAML: three inputs of four are edits of lines and values, and what the parser
/// refuses is mostly drawn again.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random{seed};
  const auto draw = [&](std::size_t n) {
    return std::size_t{random()} % std::max<std::size_t>(n, 1);
  };
  if (draw(4) == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string old(reinterpret_cast<const char*>(data), size);
  std::string text;
  for (std::size_t tries = 4; tries > 0; --tries) {
    text = old;
    for (std::size_t i = 0, count = 1 + draw(3); i < count; ++i)
      text = stepcast::fuzz::edited(std::move(text), draw);
    if (text.size() <= most && chosen().parse(text)) break;
  }
  const std::size_t length = std::min(text.size(), most);
  std::memcpy(data, text.data(), length);
  return length;
}
