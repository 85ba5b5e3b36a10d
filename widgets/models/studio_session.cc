// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/studio_session.h"

#include <QFileInfo>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <filesystem>
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

// The smallest budget that the method has a plan for; 0 where it has none.
std::int64_t smallestOf(const Problem& problem, const Method& method) {
  const auto frontier = method_frontier(problem, method);
  return frontier && !frontier->empty() ? frontier->front().budget : 0;
}

}  // namespace

StudioSession::StudioSession(QString data_dir, QObject* parent)
    : QObject(parent), data_dir_(std::move(data_dir)) {}

StudioSession::~StudioSession() { stopAll(); }

void StudioSession::stopAll() {
  jobs_.stopAndWait();
  frontier_.stopAndWait();
}

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
  std::optional<Solved> solved;
  if (document.table) {
    PlanInputs inputs;
    inputs.kind = inputs_.kind;
    auto made = solveInputs(document.table->table, inputs, BudgetRule::kFeasible, nullptr);
    if (!made) return report(tr("Cannot use this table"), made.status());
    solved = std::move(made).value();
  }
  document_ = std::move(document);
  measuring_.reset();
  problem_.reset();
  plan_.reset();
  if (!solved) frontier_.clear();
  emit documentChanged();
  emit tableChanged();
  if (solved) {
    // The document's sizes are known only now.
    auto plan = std::make_shared<PlanState>(*solved->plan);
    fillCapacity(*plan, *solved->problem, deployment());
    solved->plan = std::move(plan);
    show(std::move(*solved));
  } else {
    const BytesKind kind = inputs_.kind;
    inputs_ = {};
    inputs_.kind = kind;
    emit planChanged(nullptr);
  }
  emit inputsReset();
}

Deployment StudioSession::deployment() const {
  Deployment place{gpu_bytes_, {}};
  if (document_ && document_->model) place.sizes = document_->model->sizes;
  return place;
}

Result<StudioSession::Solved> StudioSession::solveInputs(const SensitivityTable& table,
                                                         PlanInputs inputs, BudgetRule rule,
                                                         const Problem* present) const {
  Solved solved;
  const Problem* problem = present;
  if (!present || !inputs.sameProblem(inputs_)) {
    LAMINA_ASSIGN_OR_RETURN(Problem made, Problem::make(table, inputs.options()));
    solved.problem = std::make_unique<const Problem>(std::move(made));
    problem = solved.problem.get();
  }
  const auto full = static_cast<double>(problem->full_bytes());
  if (!present) {
    if (inputs.budget == 0) {
      inputs.budget = static_cast<std::int64_t>(std::floor(full / kDefaultRatio));
    }
  } else if (rule == BudgetRule::kKeepRatio) {
    const double share =
        static_cast<double>(inputs.budget) / static_cast<double>(present->full_bytes());
    inputs.budget = static_cast<std::int64_t>(std::floor(share * full));
  }
  if (rule != BudgetRule::kGiven) {
    inputs.budget =
        std::max(std::min(inputs.budget, problem->full_bytes()), problem->smallest_bytes());
  }
  inputs.method = fitting_method(inputs.method, inputs.limits.target);
  const std::uint64_t generation = solved.problem ? generation_ + 1 : generation_;
  auto plan = solvePlan(*problem, inputs, deployment(), generation);
  if (!plan && plan.status().kind() == ErrorKind::kRefused && rule != BudgetRule::kGiven) {
    // One recipe for all layers may need more than the cheapest plan does.
    inputs.budget = std::max(inputs.budget, smallestOf(*problem, inputs.method));
    plan = solvePlan(*problem, inputs, deployment(), generation);
  }
  if (!plan) return plan.status();
  solved.plan = std::move(plan).value();
  solved.inputs = std::move(inputs);
  return solved;
}

void StudioSession::show(Solved solved) {
  inputs_ = std::move(solved.inputs);
  plan_ = std::move(solved.plan);
  if (solved.problem) {
    problem_ = std::move(solved.problem);
    generation_ = plan_->generation;
    frontier_.start(*problem_, generation_);
  }
  emit planChanged(plan_);
}

Status StudioSession::apply(PlanInputs inputs, BudgetRule rule) {
  if (!problem_)
    return Status::usage("there is no table to solve", {}, "open or calibrate a model");
  LAMINA_ASSIGN_OR_RETURN(
      Solved solved, solveInputs(document_->table->table, std::move(inputs), rule, problem_.get()));
  show(std::move(solved));
  return Status::ok();
}

Status StudioSession::setBudget(std::int64_t bytes) {
  PlanInputs next = inputs_;
  next.budget = bytes;
  return apply(std::move(next));
}

Result<std::int64_t> StudioSession::parseBudgetText(const QString& text) const {
  if (!problem_)
    return Status::usage("there is no table to solve", {}, "open or calibrate a model");
  static const QRegularExpression requests(QStringLiteral("^\\s*(\\d{1,9})\\s*requests?\\s*$"));
  if (const auto match = requests.match(text); match.hasMatch()) {
    return budgetForRequests(match.captured(1).toLongLong());
  }
  return parse_budget(text.trimmed().toStdString(), problem_->full_bytes());
}

Result<std::int64_t> StudioSession::budgetForRequests(std::int64_t requests) const {
  const Deployment place = deployment();
  if (place.gpu_bytes == 0) {
    return Status::usage("requests need the GPU's memory", {}, "type it at GPU memory first");
  }
  if (!place.sizes) {
    return Status::usage("the model's sizes are unknown", {}, "open the model");
  }
  const Geometry& geometry = problem_->table().geometry;
  LAMINA_ASSIGN_OR_RETURN(
      const MemoryBudget room,
      memory_budget(*place.sizes, geometry, {place.gpu_bytes, geometry.t_cache, requests}));
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t budget,
                          budget_for_peak(*problem_, inputs_.method, room.per_request));
  return std::min(budget, problem_->full_bytes());
}

Status StudioSession::setBudgetText(const QString& text) {
  LAMINA_ASSIGN_OR_RETURN(const std::int64_t bytes, parseBudgetText(text));
  return setBudget(bytes);
}

Status StudioSession::setBytesKind(BytesKind kind) {
  PlanInputs next = inputs_;
  next.kind = kind;
  if (!problem_) {
    inputs_ = std::move(next);
    return Status::ok();
  }
  return apply(std::move(next), BudgetRule::kKeepRatio);
}

Status StudioSession::setGpuMemory(const QString& text) {
  std::int64_t bytes = 0;
  if (!text.trimmed().isEmpty()) {
    // Of nothing: a share or a ratio is not a size.
    LAMINA_ASSIGN_OR_RETURN(bytes, parse_budget(text.trimmed().toStdString(), 0));
  }
  if (std::exchange(gpu_bytes_, bytes) == bytes || !plan_) return Status::ok();
  auto plan = std::make_shared<PlanState>(*plan_);
  fillCapacity(*plan, *problem_, deployment());
  plan_ = std::move(plan);
  emit planChanged(plan_);
  return Status::ok();
}

QString StudioSession::objectiveObstacle(Objective objective) const {
  if (!problem_) return {};
  return toQString(objective_cells(document_->table->table, objective, 0).status().message());
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
  // What was decided for the table before goes on where the new one allows it.
  PlanInputs fresh;
  fresh.kind = inputs_.kind;
  auto solved = solveInputs(data.table, inputs_, BudgetRule::kFeasible, nullptr);
  if (!solved) solved = solveInputs(data.table, fresh, BudgetRule::kFeasible, nullptr);
  if (!solved) {
    emit tableChanged();
    return report(tr("Cannot use this table"), solved.status());
  }
  document_->table = std::move(data);
  document_->partial.reset();
  document_->unfinished.reset();
  problem_.reset();
  plan_.reset();
  emit tableChanged();
  show(std::move(solved).value());
  emit inputsReset();
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
