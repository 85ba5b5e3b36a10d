// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/studio_session.h"

#include <QFileInfo>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include "engine/base/units.h"
#include "engine/calibrate/job.h"
#include "engine/project/project.h"
#include "engine/run/generate.h"
#include "widgets/models/text.h"

namespace lamina::studio {
namespace {

// What the calibration job needs; copied, so that it shares nothing with the GUI thread.
struct CalibrationTask {
  QString model_path;
  ModelId expected;
  QString project;
  std::string scorer;
};

Result<TableData> runCalibration(const CalibrationTask& task, const JobContext& context,
                                 const std::function<void(PartialTable)>& on_begin,
                                 const std::function<void(int, std::vector<double>)>& on_row) {
  LAMINA_ASSIGN_OR_RETURN(const std::shared_ptr<const Checkpoint> checkpoint,
                          Checkpoint::open(toPath(task.model_path)));
  LAMINA_ASSIGN_OR_RETURN(const ModelId id, checkpoint->model_id(context));
  if (id.fingerprint != task.expected.fingerprint) {
    return Status::bad_input("the checkpoint is not the project's: its contents have changed",
                             task.model_path.toStdString(),
                             "open the model itself, which starts a project of its own");
  }
  LAMINA_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          Model::load(checkpoint, context));
  LAMINA_ASSIGN_OR_RETURN(const std::unique_ptr<Project> project,
                          Project::open_or_create(toPath(task.project)));
  CalibrationOptions options;
  options.scorer = task.scorer;
  PartialTable partial;
  partial.grid = options.grid;
  partial.scorer = options.scorer;
  partial.rows.resize(static_cast<std::size_t>(model->config().layers));
  on_begin(std::move(partial));
  options.on_layer = [&](int layer, const std::vector<double>& values) {
    on_row(layer, values);
    return Status::ok();
  };
  LAMINA_ASSIGN_OR_RETURN(CalibrationJobResult result,
                          calibrate_into_project(*model, id, options, *project, context));
  return makeTableData(std::move(result.table), result.table_id);
}

// A project is one file at rest, so a copy made while nobody writes is a project too. The copy gets
// its name last: a full disk leaves no half file under it.
Status copyProject(const QString& from, const QString& to) {
  // Opening recovers what an interrupted writer has left, so that the file is whole.
  LAMINA_RETURN_IF_ERROR(Project::open(toPath(from)).status());
  const std::filesystem::path part = toPath(to + QStringLiteral(".part"));
  std::error_code error;
  std::filesystem::copy_file(toPath(from), part, std::filesystem::copy_options::overwrite_existing,
                             error);
  if (!error) std::filesystem::rename(part, toPath(to), error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    return Status::runtime("cannot save the project: " + error.message(), to.toStdString(),
                           "choose a folder you can write to");
  }
  return Status::ok();
}

}  // namespace

StudioSession::StudioSession(QString data_dir, QObject* parent)
    : QObject(parent), data_dir_(std::move(data_dir)) {}

StudioSession::~StudioSession() { jobs_.stopAndWait(); }

std::int64_t StudioSession::smallestBudget() const {
  return problem_ ? problem_->smallest_bytes() : 0;
}

std::int64_t StudioSession::fullBudget() const { return problem_ ? problem_->full_bytes() : 0; }

QString StudioSession::calibrationObstacle() const {
  if (!document_) return tr("Open a model first");
  if (document_->project.isEmpty()) {
    return tr("This is a table without its model: open the model to calibrate it");
  }
  if (!document_->model || document_->model->path.isEmpty()) {
    return tr("This project names no model: open the model to calibrate it");
  }
  if (!document_->model->unsupported_reason.isEmpty()) {
    return tr("Lamina cannot run this model: %1").arg(document_->model->unsupported_reason);
  }
  return {};
}

void StudioSession::report(const QString& title, const Status& status) {
  if (status.kind() == ErrorKind::kCancelled) {
    emit notice(tr("Cancelled"));
  } else {
    emit failed(title, toQString(status.message()));
  }
}

void StudioSession::open(const QString& path) {
  OpenOptions options;
  options.data_dir = data_dir_;
  if (document_ && document_->model) {
    options.current_project = document_->project;
    options.current_fingerprint = document_->model->id.fingerprint;
  }
  const QString name = QFileInfo(path).fileName();
  abandonMeasuring();
  jobs_.start<Document>(
      tr("Opening %1").arg(name),
      [path, options](const JobHandle& job) { return openDocument(path, options, job.context()); },
      [this, path, name](Result<Document> result) {
        if (!result) return report(tr("Cannot open %1").arg(name), result.status());
        adopt(std::move(result).value());
        emit opened(path);
      });
}

void StudioSession::adopt(Document document) {
  // A table that cannot be solved is refused before anything on screen changes.
  std::unique_ptr<const Problem> problem;
  if (document.table) {
    auto made = Problem::make(document.table->table, bytes_kind_);
    if (!made) return report(tr("Cannot use this table"), made.status());
    problem = std::make_unique<const Problem>(std::move(made).value());
  }
  document_ = std::move(document);
  measuring_.reset();
  problem_ = std::move(problem);
  plan_.reset();
  budget_ = 0;
  emit documentChanged();
  emit tableChanged();
  solveDefault();
}

void StudioSession::solveDefault() {
  if (!problem_) {
    emit planChanged(nullptr);
    return;
  }
  const auto wanted = static_cast<std::int64_t>(
      std::floor(static_cast<double>(problem_->full_bytes()) / kDefaultRatio));
  const Status status = setBudget(std::max(wanted, problem_->smallest_bytes()));
  if (!status.is_ok()) {
    emit planChanged(nullptr);
    report(tr("Cannot solve this table"), status);
  }
}

Result<std::shared_ptr<const PlanState>> StudioSession::solve(const Problem& problem,
                                                              std::int64_t budget) const {
  auto state = std::make_shared<PlanState>();
  LAMINA_ASSIGN_OR_RETURN(state->solution, problem.solve(Method::kGreedy, budget));
  const CostTable& costs = problem.costs();
  const SensitivityTable& table = problem.table();
  LAMINA_ASSIGN_OR_RETURN(const Plan plan, make_plan(problem, state->solution, budget, {}));
  if (plan.budget) state->peak_bytes = plan.budget->peak;
  if (auto uniform = problem.solve(Method::kUniform2d, budget)) {
    state->uniform = std::move(uniform).value();
    state->uniform_config = table.grid.at(state->uniform->configs.front());
  }
  state->budget = budget;
  state->kind = costs.kind;
  state->full_bytes = costs.to_bytes(costs.full());
  state->t_cache = table.geometry.t_cache;
  std::set<int> distinct;
  for (int layer = 0; layer < table.layers(); ++layer) {
    const int config = state->solution.configs[static_cast<std::size_t>(layer)];
    distinct.insert(config);
    state->rows.push_back(
        {table.grid.at(config), costs.to_bytes(costs.at(layer, config)),
         table.values[static_cast<std::size_t>(layer)][static_cast<std::size_t>(config)]});
  }
  state->distinct = static_cast<int>(distinct.size());
  return std::shared_ptr<const PlanState>(std::move(state));
}

Status StudioSession::setBudget(std::int64_t bytes) {
  if (!problem_)
    return Status::usage("there is no table to solve", {}, "open or calibrate a model");
  LAMINA_ASSIGN_OR_RETURN(std::shared_ptr<const PlanState> plan, solve(*problem_, bytes));
  budget_ = bytes;
  plan_ = std::move(plan);
  emit planChanged(plan_);
  return Status::ok();
}

Status StudioSession::setBudgetText(const QString& text) {
  if (!problem_)
    return Status::usage("there is no table to solve", {}, "open or calibrate a model");
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t bytes,
                          parse_budget(text.trimmed().toStdString(), problem_->full_bytes()));
  return setBudget(bytes);
}

Status StudioSession::setBytesKind(BytesKind kind) {
  if (kind == bytes_kind_) return Status::ok();
  if (!document_ || !document_->table) {
    bytes_kind_ = kind;
    return Status::ok();
  }
  LAMINA_ASSIGN_OR_RETURN(Problem made, Problem::make(document_->table->table, kind));
  auto problem = std::make_unique<const Problem>(std::move(made));
  const double share = static_cast<double>(budget_) / static_cast<double>(problem_->full_bytes());
  const auto same_ratio =
      static_cast<std::int64_t>(std::floor(share * static_cast<double>(problem->full_bytes())));
  const std::int64_t budget =
      std::clamp(same_ratio, problem->smallest_bytes(), problem->full_bytes());
  LAMINA_ASSIGN_OR_RETURN(std::shared_ptr<const PlanState> plan, solve(*problem, budget));
  bytes_kind_ = kind;
  problem_ = std::move(problem);
  budget_ = budget;
  plan_ = std::move(plan);
  emit planChanged(plan_);
  return Status::ok();
}

Result<Plan> StudioSession::exportablePlan() const {
  if (!problem_ || !plan_) {
    return Status::usage("there is no plan to export", {}, "calibrate the model first");
  }
  return make_plan(*problem_, plan_->solution, plan_->budget, document_->table->sha256);
}

Status StudioSession::exportPlan(const QString& path) const {
  LAMINA_ASSIGN_OR_RETURN(const Plan plan, exportablePlan());
  return write_plan(plan, toPath(path));
}

void StudioSession::calibrate(const QString& scorer) {
  const QString obstacle = calibrationObstacle();
  if (!obstacle.isEmpty()) {
    emit failed(tr("Cannot calibrate"), obstacle);
    return;
  }
  CalibrationTask task{document_->model->path, document_->model->id, document_->project,
                       scorer.toStdString()};
  abandonMeasuring();
  jobs_.start<TableData>(
      tr("Calibrating %1").arg(document_->displayName()),
      [this, task](const JobHandle& job) {
        return runCalibration(
            task, job.context(),
            [&](PartialTable partial) {
              job.post([this, partial = std::move(partial)] {
                measuring_ = partial;
                emit tableChanged();
              });
            },
            [&](int layer, std::vector<double> values) {
              job.post([this, layer, values = std::move(values)] {
                measuring_->rows[static_cast<std::size_t>(layer)] = values;
                emit rowMeasured(layer);
              });
            });
      },
      [this](Result<TableData> result) { calibrationEnded(std::move(result)); });
}

void StudioSession::calibrationEnded(Result<TableData> result) {
  if (!result) {
    abandonMeasuring();
    return report(tr("Calibration stopped"), result.status());
  }
  measuring_.reset();
  adoptTable(std::move(result).value());
}

void StudioSession::abandonMeasuring() {
  if (!measuring_) return;
  std::optional<PartialTable> measured = std::exchange(measuring_, std::nullopt);
  if (!document_->table) document_->partial = std::move(measured);
  emit tableChanged();
}

void StudioSession::adoptTable(TableData data) {
  auto made = Problem::make(data.table, bytes_kind_);
  if (!made) {
    emit tableChanged();
    return report(tr("Cannot use this table"), made.status());
  }
  problem_ = std::make_unique<const Problem>(std::move(made).value());
  document_->table = std::move(data);
  document_->partial.reset();
  document_->unfinished.reset();
  emit tableChanged();
  const std::int64_t budget = budget_;
  const bool keep = budget >= problem_->smallest_bytes() && budget <= problem_->full_bytes();
  if (!keep || !setBudget(budget).is_ok()) solveDefault();
  emit notice(tr("Calibrated %1 of %1 layers").arg(problem_->table().layers()));
}

void StudioSession::saveProjectAs(const QString& path) {
  if (!document_ || document_->project.isEmpty()) {
    emit failed(tr("Cannot save the project"), tr("No project is open: open a model first"));
    return;
  }
  const QString from = document_->project;
  if (QFileInfo(from) == QFileInfo(path)) return;
  abandonMeasuring();
  jobs_.start<std::monostate>(
      tr("Saving %1").arg(QFileInfo(path).fileName()),
      [from, path](const JobHandle&) -> Result<std::monostate> {
        LAMINA_RETURN_IF_ERROR(copyProject(from, path));
        return std::monostate{};
      },
      [this, path](const Result<std::monostate>& result) {
        if (!result) return report(tr("Cannot save the project"), result.status());
        document_->project = path;
        document_->automatic_project = false;
        emit documentChanged();
        emit opened(path);
        emit notice(tr("Saved %1").arg(path));
      });
}

}  // namespace lamina::studio
