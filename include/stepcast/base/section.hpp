#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// An assumption is a number whose origin the file states.
struct Assumption {
  std::string path;
  std::string value;   ///< as written
  std::string source;  ///< datasheet, measured, fitted, derived or assumed
  std::string note;
};

/// A reading collects what it meets over all sections of a document.
struct Reading {
  std::vector<Diagnostic> diagnostics;
  std::vector<Assumption> assumptions;
  std::set<std::string>
      failed;  ///< paths of keys that did not read, so that cross-checks can skip them
  /// The document is a part of what others extend: what is missing is no mistake.
  bool partial = false;

  void report(Place place, std::string path, std::string message);
};

/// Reads one YAML mapping into a spec through its description. Never throws on content: every error
/// goes to the Reading with file, line, column and key path, and the target keeps its default.
/// Every number with a dimension and every plain number may be written `{value, source, note}`.
class Section : public Visitor {
 public:
  /// `node` must outlive the section; anything but a mapping is reported, nothing (null) is an
  /// empty mapping.
  Section(const Node& node, std::string path, Reading& reading);

  void field(const Field& field) override;
  void section(std::string_view key, std::string_view doc, const Body& body) override;
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool& present,
                  const Body& body) override;
  void alternatives(std::string_view key, std::string_view doc, std::size_t& current,
                    const std::vector<Alternative>& bodies) override;
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override;
  void list(std::string_view key, std::string_view doc, std::size_t size, const Resize& resize,
            const Entry& body) override;
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const Resize& resize, const Entry& body) override;
  /// Reports anything but a mapping.
  void paths(std::string_view key, std::string_view doc, const PathMap& map) override;

  /// Reports every key that no description named, with the nearest known one. Call last.
  void finish();

 private:
  const Node* take(std::string_view key);
  /// Alternatives may share keys: each is known once.
  void know(std::string_view key);
  std::string child(std::string_view key) const;
  void fail(Place place, const std::string& path, std::string message);
  void entries(const Node& node, const std::string& path, const Resize& resize, const Entry& body);
  void inside(const Node& node, const std::string& path, const Body& body);
  /// The `value` of a number that is written `{value, source, note}`; its origin is noted.
  const Node* unwrap(const Node& node, const std::string& path);

  const Node& node_;
  std::string path_;
  Reading& reading_;
  std::vector<std::string> known_;
  bool all_known_ = false;  ///< which alternative holds is not known: its keys are not judged
};

/// Reads one mapping that stands at `path` through its description, and reports keys that it does
/// not name.
template <class Describe>
void read_mapping(const Node& node, const std::string& path, Reading& reading,
                  const Describe& body) {
  Section section{node, path, reading};
  body(section);
  section.finish();
}

/// The place of the value at `path` ("parallel.tp", "stalls.throttling.0.from"), or of its
/// nearest ancestor that is written.
Place place_of(const Node& root, std::string_view path);

}  // namespace stepcast
