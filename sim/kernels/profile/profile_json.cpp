#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "profile_rows.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"

// All JSON that profiles and their comparison are made of.
namespace stepcast {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double from_us = 1e-6, milli = 1e-3, mega = 1e6;

/// Sizes and times of one transport of one operation: `"Size Distribution": {"<MB>": [count, ms]}`.
void add_transfers(const std::string& transport, const Json& info, Profile& profile) {
  // Inside a node; of what is left RDMA alone is a link.
  const bool node = transport == "HCCS" || transport == "SDMA" || transport == "SIO";
  if (!node && transport != "RDMA") return;
  for (const auto& [megabytes, seen] : info.at("Size Distribution").items()) {
    const double size = parse_number(megabytes).value_or(0), count = seen.at(0), time = seen.at(1);
    // Empty classes of sizes are written, too.
    if (size <= 0 || count <= 0 || time <= 0) continue;
    Sample sample;
    sample.kind = node ? Sample::Kind::node_link : Sample::Kind::network_link;
    sample.type = transport;
    sample.bytes = Bytes{mega * size};
    sample.count = count;
    // The file has the sum over all transfers of that size.
    sample.time = Seconds{milli * time / count};
    profile.samples.push_back(sample);
  }
}

/// What of an event counts.
struct TraceEvent {
  std::string phase, category, name, process, thread, device, stream, collective;
  Microseconds start;
  double start_us = 0, duration = 0;
  bool timed = false;
  std::size_t at = 0;  ///< byte of its first character
};

/// Walks over a text and says how far readers came: they tell a handler of events no place.
struct CountedBytes {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::size_t* read;

  reference operator*() const { return *at; }
  CountedBytes& operator++() {
    ++at;
    ++*read;
    return *this;
  }
  CountedBytes operator++(int) {
    const CountedBytes before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedBytes& other) const { return at == other.at; }
};

/// Reads the events of a Chrome trace one by one: a trace may be larger than its tree could be.
class ChromeReader : public nlohmann::json_sax<Json> {
 public:
  struct Mark {
    double start;
    std::string name;
    bool of_device;
  };
  std::vector<ProfileRow> rows;
  std::vector<Mark> marks;
  bool events = false;        ///< it has a list of them
  std::size_t failed_at = 0;  ///< byte
  std::string failure;
  std::size_t read = 0;      ///< bytes so far
  std::size_t wrong_at = 0;  ///< byte of the first kernel that cannot be
  std::string wrong;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t v) override { return number(static_cast<double>(v), {}); }
  bool number_unsigned(number_unsigned_t v) override { return number(static_cast<double>(v), {}); }
  bool number_float(number_float_t v, const string_t& text) override { return number(v, text); }
  bool string(string_t& v) override {
    if (in_event()) text(v);
    if (in_args() && key_ == "Collective name") event_.collective = v;
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& v) override {
    key_ = v;
    return true;
  }
  bool start_object(std::size_t) override {
    // An event is an object directly within the list.
    if (events_ > 0 && depth_ == events_) {
      event_ = {};
      event_.at = read - 1;
    }
    if (in_event()) in_args_ = key_ == "args";  // objects within args do not end it
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    if (events_ > 0 && depth_ == events_) finish();
    if (depth_ == events_ + 1) in_args_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    // A trace is a list of events, or an object that has one.
    const bool list = depth_ == 0 || (depth_ == 1 && key_ == "traceEvents");
    ++depth_;
    if (list && !events) {
      events = true;
      events_ = depth_;
    }
    return true;
  }
  bool end_array() override {
    if (depth_ == events_) events_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    failed_at = position;
    failure = error.what();
    return false;
  }

 private:
  bool in_event() const { return events_ > 0 && depth_ == events_ + 1; }
  bool in_args() const { return events_ > 0 && depth_ == events_ + 2 && in_args_; }

  /// `text` is empty for whole numbers, of which a double has all digits.
  bool number(double value, std::string_view text) {
    if (in_event()) {
      if (key_ == "ts") {
        event_.start = microseconds(text, value);
        event_.start_us = value;
      }
      if (key_ == "dur") {
        event_.duration = value;
        event_.timed = true;
      }
      if (key_ == "pid") event_.process = shortest(value);
      if (key_ == "tid") event_.thread = shortest(value);
    }
    if (in_args() && key_ == "device") event_.device = shortest(value);
    if (in_args() && key_ == "stream") event_.stream = shortest(value);
    return true;
  }
  void text(const std::string& value) {
    if (key_ == "ph") event_.phase = value;
    if (key_ == "cat") event_.category = value;
    if (key_ == "name") event_.name = value;
    if (key_ == "pid") event_.process = value;
    if (key_ == "tid") event_.thread = value;
  }

  void finish() {
    // Complete events alone have a kernel's start and duration.
    if (event_.phase != "X" || !event_.timed) return;
    const bool annotation = event_.category.ends_with("user_annotation");
    // Marks that PyTorch's profiler writes around each step.
    if (annotation && event_.name.starts_with("ProfilerStep#"))
      marks.push_back({since_first(), event_.name, event_.category.starts_with("gpu")});
    // All else is of the host.
    if (event_.category != "kernel" && event_.category != "gpu_memcpy" &&
        event_.category != "gpu_memset")
      return;
    if (wrong.empty()) {
      wrong = wrong_times(event_.start_us, event_.duration);
      wrong_at = event_.at;
    }
    KernelName of = classified(event_.name);
    // The kernel of sends and receives serves the exchange among many, too.
    if (of.communication && event_.collective.find("all_to_all") != std::string::npos)
      of.of = "all_to_all";
    rows.push_back({{event_.name, of.of, of.communication,
                     event_.stream.empty() ? event_.thread : event_.stream, since_first(),
                     from_us * event_.duration},
                    event_.device.empty() ? event_.process : event_.device,
                    {},
                    0});
  }

  double since_first() {
    // Dates of traces are microseconds since 1970: as seconds in a double they would lose the
    // nanoseconds.
    if (!first_) first_ = event_.start;
    return seconds_between(*first_, event_.start);
  }

  TraceEvent event_;
  std::optional<Microseconds> first_;
  std::string key_;
  std::size_t depth_ = 0, events_ = 0;  ///< of the list of events; 0: outside
  bool in_args_ = false;
};

/// Kernels belong to the last mark before their start; those before the first were not asked for.
/// Marks of the device are nearer to its kernels than those of the host.
void mark_steps(std::vector<ChromeReader::Mark> marks, std::vector<ProfileRow>& rows) {
  if (marks.empty()) return;
  const bool of_device =
      std::ranges::any_of(marks, [](const auto& mark) { return mark.of_device; });
  std::erase_if(marks, [&](const auto& mark) { return mark.of_device != of_device; });
  std::ranges::sort(marks, {}, &ChromeReader::Mark::start);
  std::erase_if(rows, [&](const ProfileRow& r) { return r.kernel.start < marks.front().start; });
  for (ProfileRow& row : rows)
    row.step =
        std::prev(std::ranges::upper_bound(marks, row.kernel.start, {}, &ChromeReader::Mark::start))
            ->name;
}

OrderedJson side_json(const ProfileSide& side) {
  return {{"step_s", side.step},
          {"computing_s", side.computing},
          {"exposed_s", side.exposed},
          {"gaps_s", side.gaps},
          {"idle_s", side.idle}};
}

const char* kind_name(ProfileCause::Kind kind) {
  static constexpr std::array names{"slower", "launches", "waiting", "gaps", "idle", "overlap"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

void read_communication(const std::string& path, Profile& profile) {
  try {
    const Json file = Json::parse(read_document_text(path, {}, "a JSON file"));
    for (const auto& [step, kinds] : file.items())
      for (const auto& [kind, operations] : kinds.items())
        for (const auto& [name, operation] : operations.items()) {
          // Sums over the operations beside it.
          if (name.starts_with("Total")) continue;
          for (const auto& [transport, info] : operation.at("Communication Bandwidth Info").items())
            add_transfers(transport, info, profile);
        }
  } catch (const Json::exception& error) {
    refuse_input({path}, {}, std::string("is no communication.json: ") + error.what());
  }
}

std::vector<ProfileRow> read_chrome_rows(const std::string& path) {
  const std::string text = read_profile_text(path);
  ChromeReader reader;
  // A trace is read as a stream, since it can be larger than memory would hold as a tree; a byte is
  // turned into a line only for an error.
  const auto refuse = [&](std::size_t byte, const std::string& message) {
    const std::string_view before = std::string_view(text).substr(0, byte);
    const auto line = static_cast<int>(1 + std::ranges::count(before, '\n'));
    refuse_input({path, line, 1}, {}, message);
  };
  const CountedBytes begin{text.data(), &reader.read};
  if (!Json::sax_parse(begin, CountedBytes{text.data() + text.size(), &reader.read}, &reader)) {
    const bool ends = reader.failure.find("end of input") != std::string::npos;
    refuse(reader.failed_at, ends ? "ends within the trace: the file is empty or truncated"
                                  : "is no JSON: " + reader.failure);
  }
  // In this order, since each of them follows from the one before.
  if (!reader.events)
    refuse(0, "has no traceEvents, allowed: a Chrome trace of PyTorch's profiler");
  if (!reader.wrong.empty()) refuse(reader.wrong_at, reader.wrong);
  if (reader.rows.empty())
    refuse(0,
           "holds no kernels of a device (cat kernel), allowed: a trace of PyTorch's profiler with "
           "activities of the device; a forecast is written by run --kernel-details");
  mark_steps(reader.marks, reader.rows);
  return std::move(reader.rows);
}

std::string profile_json(const ProfileComparison& comparison, const KernelProfile& profile,
                         const ProfileNames& names) {
  OrderedJson classes = OrderedJson::array(), causes = OrderedJson::array();
  for (const ClassComparison& c : comparison.classes)
    classes.push_back(
        {{"class", c.of},
         {"communication", c.communication},
         {"launches", {{"forecast", c.forecast_launches}, {"profile", c.profile_launches}}},
         {"time_s", {{"forecast", c.forecast}, {"profile", c.profile}}},
         {"ratio", c.ratio > 0 ? OrderedJson(c.ratio) : OrderedJson(nullptr)},
         {"slower_s", c.slower},
         {"launches_s", c.more},
         {"waiting_s", c.waiting}});
  for (const ProfileCause& c : comparison.causes)
    causes.push_back({{"kind", kind_name(c.kind)},
                      {"class", c.of.empty() ? OrderedJson(nullptr) : OrderedJson(c.of)},
                      {"change_s", c.change},
                      {"text", c.text}});
  return OrderedJson{{"stepcast", program_head<OrderedJson>()},
                     {"scenario", names.scenario},
                     {"rank", names.rank},
                     {"stage", names.stage},
                     {"profile_file", profile.file},
                     {"profile_steps", profile.steps},
                     {"forecast", side_json(comparison.forecast)},
                     {"profile", side_json(comparison.profile)},
                     {"change_s", comparison.profile.step - comparison.forecast.step},
                     {"classes", classes},
                     {"causes", causes},
                     {"unknown", profile.unknown}}
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

}  // namespace stepcast
