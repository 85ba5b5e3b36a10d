// SPDX-License-Identifier: Apache-2.0
// A GGUF checkpoint from its file, or from all files of a split one.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/stored_checkpoint.h"

namespace lamina {
namespace {

constexpr std::int64_t kMaxParts = 65535;

struct OpenPart {
  std::shared_ptr<const MappedFile> file;
  GgufFile gguf;
};

Result<OpenPart> open_part(const std::filesystem::path& path) {
  OpenPart part;
  LAMINA_ASSIGN_OR_RETURN(part.file, MappedFile::open(path));
  LAMINA_ASSIGN_OR_RETURN(part.gguf, GgufFile::parse(part.file->bytes(), path.string()));
  return part;
}

// "base-00002-of-00003.gguf" -> "base"; false where the name does not say part `no` (from 0) of
// `count`.
bool split_base(const std::filesystem::path& path, std::int64_t no, std::int64_t count,
                std::string& base) {
  std::string name = path.filename().string();
  std::string ending = fmt::format("-{:05}-of-{:05}.gguf", no + 1, count);
  if (!name.ends_with(ending)) return false;
  base = name.substr(0, name.size() - ending.size());
  return true;
}

// The other parts, read and checked against the first look; ordered by number.
Result<std::vector<OpenPart>> open_parts(OpenPart given) {
  std::filesystem::path path = given.file->path();
  LAMINA_ASSIGN_OR_RETURN(std::int64_t count,
                          given.gguf.metadata.integer("split.count", 1, 0, kMaxParts));
  std::vector<OpenPart> parts;
  if (count <= 1) {
    parts.push_back(std::move(given));
    return parts;
  }
  std::string base;
  // A part that is cut before it says its number has the one of its name.
  std::int64_t named = 0;
  if (!given.gguf.metadata.whole) {
    while (named + 1 < count && !split_base(path, named, count, base)) ++named;
  }
  LAMINA_ASSIGN_OR_RETURN(std::int64_t no,
                          given.gguf.metadata.integer("split.no", named, 0, count - 1));
  if (!split_base(path, no, count, base)) {
    return Status::bad_input(
        fmt::format("part {} of {} of a split model has another name", no + 1, count),
        path.string(), fmt::format("name it NAME-{:05}-of-{:05}.gguf", no + 1, count));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == no) {
      parts.push_back(std::move(given));
      continue;
    }
    std::filesystem::path sibling =
        path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", base, i + 1, count);
    std::error_code error;
    if (!std::filesystem::exists(sibling, error)) {
      return Status::bad_input(fmt::format("part {} of {} is missing", i + 1, count),
                               sibling.string(), "put all parts into one folder");
    }
    LAMINA_ASSIGN_OR_RETURN(OpenPart part, open_part(sibling));
    const GgufMetadata& its = part.gguf.metadata;
    LAMINA_ASSIGN_OR_RETURN(std::int64_t its_no,
                            its.integer("split.no", its.whole ? -1 : i, -1, kMaxParts));
    LAMINA_ASSIGN_OR_RETURN(std::int64_t its_count,
                            its.integer("split.count", its.whole ? 0 : count, 0, kMaxParts));
    if (its_no != i || its_count != count) {
      return Status::bad_input(
          fmt::format("the file says that it is part {} of {}, its name part {} of {}", its_no + 1,
                      its_count, i + 1, count),
          sibling.string(), "fetch all parts of one model again");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Status check_tensor_count(const std::vector<OpenPart>& parts) {
  if (parts.size() == 1) return Status::ok();
  std::int64_t total = 0;
  std::set<std::string_view> names;
  for (const OpenPart& part : parts) {
    total += static_cast<std::int64_t>(part.gguf.tensors.size());
    for (const GgufTensor& tensor : part.gguf.tensors) {
      if (!names.insert(tensor.name).second) {
        return Status::bad_input(fmt::format("duplicate tensor '{}' in two parts", tensor.name),
                                 part.file->path().string(), "fetch all parts of one model again");
      }
    }
  }
  const auto has_all_names = [](const OpenPart& part) { return part.gguf.cut < Cut::kDirectory; };
  if (!std::all_of(parts.begin(), parts.end(), has_all_names)) return Status::ok();
  const GgufMetadata& metadata = parts[0].gguf.metadata;
  LAMINA_ASSIGN_OR_RETURN(std::int64_t claimed,
                          metadata.integer("split.tensors.count", total, 0, INT32_MAX));
  if (claimed != total) {
    return Status::bad_input(
        fmt::format("the parts hold {} tensors, the first one claims {}", total, claimed),
        metadata.where, "fetch all parts of one model again");
  }
  return Status::ok();
}

void note_cut(const OpenPart& part, bool of_several, StoredCheckpoint::Parts& parts) {
  const GgufFile& gguf = part.gguf;
  // The first part's hyper-parameters are the model's; of others only tensors can be missing.
  const bool first = parts.files.size() == 1;
  const Cut cut = first ? gguf.cut : std::min(gguf.cut, Cut::kDirectory);
  parts.cut = std::max(parts.cut, cut);
  if (gguf.cut == Cut::kNone || !parts.truncation.empty()) return;
  const std::size_t bytes = part.file->bytes().size();
  parts.truncation = gguf.cut == Cut::kData
                         ? fmt::format("{} of {} bytes are there", bytes, gguf.expected_size)
                         : fmt::format("its {} bytes end inside the header", bytes);
  if (of_several) parts.truncation += " in " + part.file->path().filename().string();
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> open_gguf(const std::filesystem::path& path) {
  LAMINA_ASSIGN_OR_RETURN(OpenPart given, open_part(path));
  LAMINA_ASSIGN_OR_RETURN(std::vector<OpenPart> opened, open_parts(std::move(given)));
  LAMINA_RETURN_IF_ERROR(check_tensor_count(opened));
  StoredCheckpoint::Parts parts;
  parts.path = path;
  parts.format = "gguf";
  parts.scheme = NameScheme::kGguf;
  GgufTensorMap tensors;
  for (const OpenPart& part : opened) {
    parts.files.push_back(part.file);
    note_cut(part, opened.size() > 1, parts);
    for (const GgufTensor& tensor : part.gguf.tensors) {
      tensors.emplace(tensor.name, &tensor);
      parts.tensors.push_back({{tensor.name, std::string(tensor.type->name), tensor.shape,
                                tensor.elements, tensor.bytes},
                               tensor.type,
                               tensor.data});
    }
  }
  GgufMetadata& metadata = opened[0].gguf.metadata;
  LAMINA_ASSIGN_OR_RETURN(parts.config, gguf_config(metadata, tensors));
  LAMINA_ASSIGN_OR_RETURN(TokenizerData tokenizer, gguf_tokenizer(metadata, parts.config));
  if (parts.config.vocab == 0 && parts.cut >= Cut::kDirectory) parts.config.vocab = -1;
  if (parts.config.vocab == 0)
    parts.config.vocab = static_cast<std::int64_t>(tokenizer.tokens.size());
  parts.tokenizer = std::make_shared<const TokenizerData>(std::move(tokenizer));
  return StoredCheckpoint::make(std::move(parts));
}

}  // namespace lamina
