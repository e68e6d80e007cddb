#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/job_pool.hpp"
#include "stepcast/sim/engine/platform_file.hpp"

/// A platform file is read in a process of its own: SimGrid ends the process where it does not like
/// a file, and can read one only.
namespace stepcast {
namespace {

/// A platform that needs more to be read is refused; the tables of 1024 devices take a tenth.
constexpr std::uint64_t most_reading_bytes = 2ULL << 30U;

/// A file that nobody else sees.
class PrivateFile {
 public:
  explicit PrivateFile(const char* name) : number_{memfd_create(name, 0)} {
    if (number_ < 0)
      throw EngineError(std::string("no file for a platform: ") + std::strerror(errno));
  }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  ~PrivateFile() { close(number_); }

  int number() const { return number_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(number_, text.data() + done, text.size() - done);
      if (n <= 0) throw EngineError(std::string("a platform: ") + std::strerror(errno));
      done += static_cast<std::size_t>(n);
    }
  }
  std::string text() const {
    // A message of SimGrid fits into a page; more would not be shown anyway.
    std::string all(4096, '\0');
    const ssize_t n = pread(number_, all.data(), all.size(), 0);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
  }

 private:
  int number_;
};

/// Numbers and names as they lie in memory, for the process that asked.
class Packer {
 public:
  template <class T>
  // Both processes are the same program on the same machine, so that bytes need no format.
  void number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    number(values.size());
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void word(const std::string& text) {
    number(text.size());
    text_ += text;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : text_{text} {}
  template <class T>
  T number() {
    T value{};
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> numbers() {
    // The length comes first, as Packer wrote it.
    std::vector<T> values(number<std::size_t>());
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  std::string word() {
    std::string text(number<std::size_t>(), '\0');
    copy(text.data(), text.size());
    return text;
  }

 private:
  void copy(void* to, std::size_t size) {
    expects(size <= text_.size(), "a platform has arrived whole");
    std::memcpy(to, text_.data(), size);
    text_.remove_prefix(size);
  }
  std::string_view text_;
};

// Order and types are those of unpacked(), and nothing else is agreed on.
std::string packed(const PlatformTable& table) {
  Packer packer;
  packer.number(table.hosts.size());
  for (const std::string& host : table.hosts) packer.word(host);
  packer.number(table.links.size());
  for (const PlatformTable::Link& link : table.links) {
    packer.word(link.name);
    packer.number(link.bandwidth.value());
    packer.number(link.latency.value());
  }
  packer.numbers(table.first);
  packer.numbers(table.crossed);
  return packer.take();
}

PlatformTable unpacked(std::string_view text) {
  // In the order in which the module packs it; both are of one build.
  Unpacker from(text);
  PlatformTable table;
  table.hosts.resize(from.number<std::size_t>());
  for (std::string& host : table.hosts) host = from.word();
  table.links.resize(from.number<std::size_t>());
  for (PlatformTable::Link& link : table.links) {
    link.name = from.word();
    link.bandwidth = BytesPerSecond{from.number<double>()};
    link.latency = Seconds{from.number<double>()};
  }
  table.first = from.numbers<std::uint64_t>();
  table.crossed = from.numbers<std::uint32_t>();
  return table;
}

/// What the other process says first.
constexpr char has_table = 'T', is_refused = 'R', is_broken = 'B';

/// In the other process: the table, or which key is wrong and why.
std::string reading_of(const PrivateFile& file, const PrivateFile& said,
                       const PlatformSpec& platform, std::int64_t devices) {
  // SimGrid writes to the standard error and exits: its words are kept in a file for the parent.
  dup2(said.number(), STDERR_FILENO);
  try {
    const PlatformAnswer answer = read_platform_table(file.path(), platform.hosts, devices);
    if (answer.wrong.empty()) return has_table + packed(answer.table);
    return is_refused + answer.key + "\n" + answer.wrong;
  } catch (const EngineError& error) {  // SimGrid is not there: no matter of the file
    return is_broken + std::string(error.what());
  }
}

/// On one line, with the file's own name.
std::string words_of_simgrid(std::string text, const std::string& inner, const std::string& name) {
  // Messages name the file in /proc; users know it by the name in the scenario.
  for (std::size_t at = text.find(inner); at != std::string::npos; at = text.find(inner, at))
    text.replace(at, inner.size(), name);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return shortened(visible(text));
}

/// SimGrid takes any number for a latency.
void check_latencies(const PlatformTable& table, const std::string& key) {
  constexpr double longest = 1e6;
  std::vector<Diagnostic> wrong;
  constexpr std::size_t most_reports = 20;
  for (const PlatformTable::Link& link : table.links) {
    const double latency = link.latency.value();
    // A file of a million links could have as many faults.
    if ((latency >= 0 && latency <= longest) || wrong.size() >= most_reports) continue;
    wrong.push_back({{},
                     key + "file",
                     "has the link " + shortened(link.name) + " with a latency of " +
                         shortest(latency) + "s, allowed: 0s to " + shortest(longest) + "s"});
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

PlatformTable read_apart(const PlatformSpec& platform, std::int64_t devices,
                         const std::string& prefix) {
  const PrivateFile file("platform.xml"), said("said");
  file.write(*platform.text);
  JobPool pool(
      [&](std::size_t, const std::string&) { return reading_of(file, said, platform, devices); });
  pool.start(0, {}, {.memory_bytes = most_reading_bytes});
  std::vector<WorkerAnswer> answers;
  for (std::vector<pollfd> none; answers.empty();) answers = pool.wait(none, -1);
  const std::string& text = answers.front().text;
  const std::string key = prefix + "network.platform.";
  // The process ended by itself: SimGrid's words say why, and the signal or code stands behind.
  if (answers.front().failed()) {
    const std::string words = words_of_simgrid(said.text(), file.path(), platform.file);
    const std::string why = words_of_simgrid(answers.front().failure, file.path(), platform.file);
    refuse_input({}, key + "file",
                 "is refused by SimGrid: " + (words.empty() ? why : words + " (" + why + ")") +
                     ", allowed: a platform file that it loads");
  }
  if (text.front() == is_broken) throw EngineError(text.substr(1));
  if (text.front() == has_table) {
    PlatformTable table = unpacked(std::string_view(text).substr(1));
    check_latencies(table, key);
    return table;
  }
  const std::size_t end = text.find('\n');
  refuse_input({}, key + text.substr(1, end - 1), text.substr(end + 1));
}

/// The narrowest link on any route between two nodes, over all pairs of devices: by it a library
/// reckons what it would by a NIC.
BytesPerSecond narrowest_between_nodes(const PlatformTable& table, std::int64_t node) {
  double narrowest = std::numeric_limits<double>::infinity();
  const auto size = static_cast<std::uint32_t>(node);
  // Inside a node a NIC is never used, whatever the file has there.
  for (std::uint32_t a = 0; a < table.devices(); ++a)
    for (std::uint32_t b = 0; b < table.devices(); ++b) {
      if (a / size == b / size) continue;
      for (const std::uint32_t link : table.route(a, b))
        narrowest = std::min(narrowest, table.links[link].bandwidth.value());
    }
  return BytesPerSecond{narrowest};
}

}  // namespace

/// Candidates of a plan and points of a sweep mostly share one file, which is read once.
void load_platform(ClusterSpec& cluster, const std::string& prefix) {
  auto* fabric = std::get_if<PlatformFabric>(&cluster.node_fabric);
  if (fabric == nullptr || !cluster.network.platform) return;
  const PlatformSpec& platform = *cluster.network.platform;
  static std::string known;
  static std::shared_ptr<const PlatformTable> table;
  // Text, pattern and number of devices decide the table; the path does not.
  const std::string wanted =
      sha256(*platform.text) + platform.hosts + "\n" + std::to_string(cluster.devices);
  if (wanted != known) {
    table = std::make_shared<const PlatformTable>(read_apart(platform, cluster.devices, prefix));
    known = wanted;
  }
  fabric->table = table;
  if (cluster.nodes() > 1)
    cluster.network.nic.link.bandwidth = narrowest_between_nodes(*table, cluster.node_devices);
}

}  // namespace stepcast
