#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace stepcast::cli {

/// Gives the text of a file to its argument, piece by piece.
using PieceWriter = std::function<void(const std::function<void(std::string_view)>&)>;

/// `by_name`: compressed when the name ends in `.gz`.
enum class Form { plain, by_name };

/// Writes a file that is too long for one text, otherwise as write_file does.
/// Throws InputError when the place cannot be written.
void write_pieces(const std::string& path, Form form, const PieceWriter& body);

/// Removes the file that is being written under another name, if there is one. For handlers of
/// signals.
void remove_unfinished_file();

}  // namespace stepcast::cli
