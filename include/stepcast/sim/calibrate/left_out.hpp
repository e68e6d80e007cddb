#pragma once
#include <functional>
#include <string>
#include <vector>

#include "stepcast/sim/kernels/components.hpp"

/// Here numbers of kernels and exchanges are fitted again without a part of a table, and the part
/// is forecast with them: docs/components.md, Left out.
namespace stepcast {

/// A number of a cluster file that a table of kernels or exchanges fixes.
struct ComponentNumber {
  std::string path;
  double low, high;  ///< both above 0
  std::function<double(const ClusterSpec&)> get;
  std::function<void(ClusterSpec&, double)> set;
};
/// The numbers that rows of the class see, of the generation and of FP8 or not where the
/// class has such. A number that the cluster has at 0 is not part of its form and is not among
/// them.
std::vector<ComponentNumber> component_numbers(const OperatorRequest& request,
                                               const ClusterSpec& cluster);

/// What the rows of one kind and class of size of one table come to.
struct LeftOutFigures {
  std::string device, kind, size;
  /// What is left out at a time; or why nothing is: `goodness of fit`, `foreign`.
  std::string left_out;
  ErrorFigures preset;                ///< of the numbers as the cluster file has them
  ErrorFigures fitted;                ///< of the same fit with no row left out
  ErrorFigures unseen;                ///< of rows in the fit without them
  ErrorFigures unseen_with_excluded;  ///< excluded rows are in no fit
  bool refitted() const { return unseen.rows > 0; }
};

/// The figures of all tables below `folder`, in the order of devices and tables. Each fit
/// starts at the numbers of the cluster file, and is pulled to them by next to nothing. Throws
/// InputError: everything that is wrong with a table.
std::vector<LeftOutFigures> leave_out(const std::string& folder, const SearchPath& search);
/// The mean of the mean absolute errors of unseen rows of all that was fitted again [fraction].
double overall(const std::vector<LeftOutFigures>& all);

/// Errors of parts that a fit had not seen, as a table for people.
std::string left_out_text(const std::vector<LeftOutFigures>& all);
/// A table for docs/components.md; `read_left_out` finds its first figure again.
std::string left_out_markdown(const std::vector<LeftOutFigures>& all);
std::optional<double> read_left_out(std::string_view markdown);

}  // namespace stepcast
