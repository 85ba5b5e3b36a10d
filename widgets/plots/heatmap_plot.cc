// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/heatmap_plot.h"

#include <QAccessible>
#include <QAccessibleEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/models/text.h"
#include "widgets/plots/heatmap_overlay.h"

namespace lamina::studio {
namespace {

// Exact zeros become NaN, which the gradient paints in the zero colour. Cells that are not measured
// are transparent; they need a number all the same, because NaN is painted whatever its alpha.
void fillCells(QCPColorMapData* data, const HeatmapModel& model) {
  for (int layer = 0; layer < model.layers(); ++layer) {
    for (int config = 0; config < model.configs(); ++config) {
      const CellState state = model.state(layer, config);
      double shown = 0;
      if (state == CellState::kZero) shown = std::numeric_limits<double>::quiet_NaN();
      if (state == CellState::kPositive) shown = std::log10(model.value(layer, config));
      data->setCell(config, layer, shown);
      data->setAlpha(config, layer, state == CellState::kMissing ? 0 : 255);
    }
  }
}

bool movesCursor(int key) {
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_Home:
    case Qt::Key_End:
      return true;
    default:
      return false;
  }
}

// QCPColorMap puts cell centres on the ends of its range, which needs care where there is one cell.
QCPRange cellRange(int count) { return count > 1 ? QCPRange(0, count - 1) : QCPRange(-0.5, 0.5); }

}  // namespace

HeatmapPlot::HeatmapPlot(HeatmapModel* model, QWidget* parent) : ScreenPlot(parent), model_(model) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Sensitivity heatmap"));
  setAccessibleDescription(
      tr("Layers down, recipes across; the arrow keys move from cell to cell and read its value"));
  setWhatsThis(accessibleDescription());
  buildLayout();
  new HeatmapMarks(this);
  new HeatmapOverlay(this);
  applyPalette();
  applyGradient();
  connect(model_, &QAbstractItemModel::modelReset, this, &HeatmapPlot::rebuild);
  connect(model_, &QAbstractItemModel::dataChanged, this, &HeatmapPlot::refreshRoles);
  connect(this, &QCustomPlot::afterLayout, this, &HeatmapPlot::fitLabels);
  rebuild();
}

void HeatmapPlot::buildLayout() {
  QCPAxisRect* rect = axisRect();
  rect->setupFullAxesBox(false);
  k_axis_ = rect->addAxis(QCPAxis::atBottom);
  yAxis->setRangeReversed(true);
  yAxis2->setVisible(false);
  xAxis2->setVisible(true);
  for (QCPAxis* axis : {xAxis, xAxis2, k_axis_, yAxis}) {
    axis->setTicker(QSharedPointer<QCPAxisTickerText>(new QCPAxisTickerText));
    axis->setTickLabels(true);
    axis->setTickLength(0, 0);
    axis->setSubTicks(false);
    axis->grid()->setVisible(false);
    axis->setBasePen(Qt::NoPen);
  }
  yAxis->setLabel(tr("Layer"));
  xAxis2->setLabel(tr("Keep: share of the tokens"));
  cells_ = new QCPColorMap(xAxis, yAxis);
  cells_->setInterpolate(false);
  cells_->setTightBoundary(false);
  scale_ = new QCPColorScale(this);
  scale_->setType(QCPAxis::atRight);
  scale_->setBarWidth(14);
  scale_->setRangeDrag(false);
  scale_->setRangeZoom(false);
  scale_->axis()->setTicker(QSharedPointer<QCPAxisTickerText>(new QCPAxisTickerText));
  scale_->setLabel(tr("Relative error S"));
  plotLayout()->addElement(0, 1, scale_);
  plotLayout()->setColumnSpacing(10);
  auto* margins = new QCPMarginGroup(this);
  rect->setMarginGroup(QCP::msBottom | QCP::msTop, margins);
  scale_->setMarginGroup(QCP::msBottom | QCP::msTop, margins);
  cells_->setColorScale(scale_);
}

void HeatmapPlot::applyGradient() {
  QCPColorGradient gradient;
  gradient.clearColorStops();
  const std::span<const QRgb> stops = colorStops(color_map_);
  for (std::size_t i = 0; i < stops.size(); ++i) {
    gradient.setColorStopAt(static_cast<double>(i) / static_cast<double>(stops.size() - 1),
                            QColor(stops[i]));
  }
  gradient.setLevelCount(256);
  gradient.setNanHandling(QCPColorGradient::nhNanColor);
  gradient.setNanColor(zeroColor());
  scale_->setGradient(gradient);
  replotSoon();
}

void HeatmapPlot::setColorMap(ColorMap map) {
  color_map_ = map;
  applyGradient();
}

void HeatmapPlot::applyPalette() {
  const QColor text = palette().color(QPalette::WindowText);
  const QColor line = blend(palette().color(QPalette::Window), text, 0.5);
  setBackground(QBrush(palette().color(QPalette::Window)));
  axisRect()->setBackground(QBrush(missingColor(palette())));
  QFont tick_font = font();
  if (tick_font.pointSizeF() > 0)
    tick_font.setPointSizeF(std::max(7.0, tick_font.pointSizeF() - 1));
  for (QCPAxis* axis : {xAxis, xAxis2, k_axis_, yAxis, scale_->axis()}) {
    axis->setTickLabelColor(text);
    axis->setLabelColor(text);
    axis->setTickPen(axis == scale_->axis() ? QPen(line) : QPen(Qt::NoPen));
    axis->setSubTickPen(Qt::NoPen);
    axis->setTickLabelFont(tick_font);
    axis->setLabelFont(font());
  }
  scale_->axis()->setBasePen(QPen(line));
  replotSoon();
}

void HeatmapPlot::rebuild() {
  const int layers = model_->layers();
  const int configs = model_->configs();
  if (cursor_.layer >= layers || cursor_.config >= configs) cursor_ = {};
  if (layers > 0) {
    cells_->data()->setSize(configs, layers);
    cells_->data()->setRange(cellRange(configs), cellRange(layers));
    xAxis->setRange(-0.5, configs - 0.5);
    xAxis2->setRange(xAxis->range());
    k_axis_->setRange(xAxis->range());
    yAxis->setRange(-0.5, layers - 0.5);
  }
  cells_->setVisible(layers > 0);
  refreshValues();
}

QCPRange HeatmapPlot::colorRange() const {
  const LogRange range = model_->logRange();
  if (range.isEmpty()) return {-3, 0};
  const double widen = range.upper - range.lower < 1e-6 ? 0.5 : 0.0;
  return {range.lower - widen, range.upper + widen};
}

void HeatmapPlot::refreshValues() {
  if (model_->layers() > 0) fillCells(cells_->data(), *model_);
  scale_->setDataRange(colorRange());
  if (cursor_.isValid()) announceCursor();
  replotSoon();
}

// Another plan moves outlines and costs, which no colour depends on.
void HeatmapPlot::refreshRoles(const QModelIndex&, const QModelIndex&, const QList<int>& roles) {
  const bool values_stay = !roles.isEmpty() && !roles.contains(HeatmapModel::kValueRole);
  if (!values_stay) return refreshValues();
  if (cursor_.isValid()) announceCursor();
  if (roles.contains(HeatmapModel::kChosenRole)) replotOverlaySoon();
}

QRectF HeatmapPlot::cellRect(int layer, int config) const {
  const QPointF a(xAxis->coordToPixel(config - 0.5), yAxis->coordToPixel(layer - 0.5));
  const QPointF b(xAxis->coordToPixel(config + 0.5), yAxis->coordToPixel(layer + 0.5));
  return QRectF(a, b).normalized();
}

Cell HeatmapPlot::cellAt(const QPoint& position) const {
  if (model_->layers() == 0 || !axisRect()->rect().contains(position)) return {};
  const int config = static_cast<int>(std::lround(xAxis->pixelToCoord(position.x())));
  const int layer = static_cast<int>(std::lround(yAxis->pixelToCoord(position.y())));
  if (config < 0 || config >= model_->configs() || layer < 0 || layer >= model_->layers())
    return {};
  return {layer, config};
}

HeatmapPlot::BitLabels HeatmapPlot::bitLabels(double cell_pixels) const {
  const QFontMetrics metrics(xAxis->tickLabelFont());
  int widest = 0;
  for (const int bits : model_->grid().v_bits) {
    widest = std::max(widest, metrics.horizontalAdvance(QString::number(bits)));
  }
  if (cell_pixels >= widest + 4) return BitLabels::kHorizontal;
  return cell_pixels >= metrics.height() - 4 ? BitLabels::kRotated : BitLabels::kHidden;
}

// "K16" where it fits a group of columns, else "16", else nothing.
QStringList HeatmapPlot::kLabels(double group_pixels) const {
  const QFontMetrics metrics(k_axis_->tickLabelFont());
  for (const QString& prefix : {QStringLiteral("K"), QString()}) {
    QStringList labels;
    int widest = 0;
    for (const int bits : model_->grid().k_bits) {
      labels << prefix + QString::number(bits);
      widest = std::max(widest, metrics.horizontalAdvance(labels.back()));
    }
    if (group_pixels >= widest + 2) return labels;
  }
  return {};
}

// What the bottom axis says: the bits themselves where their labels do not fit.
QString HeatmapPlot::bitsLabel(BitLabels v_fit, bool k_fits) const {
  if (v_fit != BitLabels::kHidden) return tr("V bits of each column, below them K bits");
  QStringList k_bits, v_bits;
  for (const int bits : model_->grid().k_bits) k_bits << QString::number(bits);
  for (const int bits : model_->grid().v_bits) v_bits << QString::number(bits);
  const QString separator = QStringLiteral(", ");
  return k_fits ? tr("K bits; within each, V bits %1").arg(v_bits.join(separator))
                : tr("K bits %1; within each, V bits %2")
                      .arg(k_bits.join(separator), v_bits.join(separator));
}

// Runs after every layout, when the size of the cells is known; asks for another one where it
// changed what the layout depends on.
void HeatmapPlot::fitLabels() {
  if (model_->layers() == 0) return;
  const ConfigGrid& grid = model_->grid();
  const QRect area = axisRect()->rect();
  const QFontMetrics metrics(xAxis->tickLabelFont());
  const double cell = static_cast<double>(area.width()) / model_->configs();
  const int v_count = static_cast<int>(grid.v_bits.size());
  const int block = v_count * static_cast<int>(grid.k_bits.size());
  const BitLabels v_fit = bitLabels(cell);
  const QStringList k_labels = kLabels(cell * v_count);

  std::vector<Tick> keep, k_bits, v_bits;
  for (int config = 0; config < grid.size(); ++config) {
    const LayerConfig recipe = grid.at(config);
    if (config % block == 0) keep.push_back({config + (block - 1) / 2.0, keepText(recipe.keep)});
    if (config % v_count == 0 && !k_labels.isEmpty()) {
      k_bits.push_back({config + (v_count - 1) / 2.0, k_labels.at(grid.k_i(config))});
    }
    if (v_fit != BitLabels::kHidden) {
      v_bits.push_back({static_cast<double>(config), QString::number(recipe.v_bits)});
    }
  }
  bool changed = setTicks(xAxis2, keep) | setTicks(k_axis_, k_bits) | setTicks(xAxis, v_bits) |
                 setTicks(yAxis, indexTicks(model_->layers(), area.height(), metrics.height() + 1));
  const QString label = bitsLabel(v_fit, !k_labels.isEmpty());
  const double rotation = v_fit == BitLabels::kRotated ? -90 : 0;
  changed |= xAxis->tickLabelRotation() != rotation || k_axis_->label() != label;
  xAxis->setTickLabelRotation(rotation);
  k_axis_->setLabel(label);
  fitColorBar();
  if (changed) replotSoon();
}

void HeatmapPlot::fitColorBar() {
  const QFontMetrics metrics(scale_->axis()->tickLabelFont());
  const QCPRange range = colorRange();
  const int fitting = axisRect()->height() / (2 * metrics.height());
  if (setTicks(scale_->axis(), logTicks(range.lower, range.upper, fitting))) replotSoon();
}

QStringList HeatmapPlot::tickLabels(const QString& axis) const {
  const QHash<QString, QCPAxis*> axes{{QStringLiteral("layer"), yAxis},
                                      {QStringLiteral("keep"), xAxis2},
                                      {QStringLiteral("k_bits"), k_axis_},
                                      {QStringLiteral("v_bits"), xAxis},
                                      {QStringLiteral("color"), scale_->axis()}};
  QCPAxis* found = axes.value(axis);
  if (!found) return {};
  return labelsOf(found);
}

void HeatmapPlot::setCursor(Cell cell) {
  if (model_->layers() == 0) return;
  const Cell next{std::clamp(cell.layer, 0, model_->layers() - 1),
                  std::clamp(cell.config, 0, model_->configs() - 1)};
  if (next == cursor_) return;
  cursor_ = next;
  announceCursor();
  emit cursorChanged(cursor_.layer, cursor_.config);
  replotOverlaySoon();
}

void HeatmapPlot::announceCursor() {
  setAccessibleDescription(model_->cellText(cursor_.layer, cursor_.config));
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
}

bool HeatmapPlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return ScreenPlot::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Cell cell = cellAt(help->pos());
  if (cell.isValid()) {
    QToolTip::showText(help->globalPos(), model_->cellToolTip(cell.layer, cell.config), this,
                       cellRect(cell.layer, cell.config).toAlignedRect());
  } else {
    QToolTip::hideText();
  }
  return true;
}

void HeatmapPlot::keyPressEvent(QKeyEvent* event) {
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  if (!cursor_.isValid() && model_->layers() > 0 && movesCursor(event->key())) {
    setCursor({0, 0});
    event->accept();
    return;
  }
  Cell next = cursor_;
  const int block = std::max(1, model_->configs() / std::max(1, int(model_->grid().keep.size())));
  switch (event->key()) {
    case Qt::Key_Left:
      next.config -= control ? block : 1;
      break;
    case Qt::Key_Right:
      next.config += control ? block : 1;
      break;
    case Qt::Key_Up:
      next.layer -= 1;
      break;
    case Qt::Key_Down:
      next.layer += 1;
      break;
    case Qt::Key_PageUp:
      next.layer -= 10;
      break;
    case Qt::Key_PageDown:
      next.layer += 10;
      break;
    case Qt::Key_Home:
      next = control ? Cell{0, 0} : Cell{next.layer, 0};
      break;
    case Qt::Key_End:
      next = control ? Cell{model_->layers() - 1, model_->configs() - 1}
                     : Cell{next.layer, model_->configs() - 1};
      break;
    default:
      ScreenPlot::keyPressEvent(event);
      return;
  }
  setCursor(next);
  event->accept();
}

void HeatmapPlot::mousePressEvent(QMouseEvent* event) {
  const Cell cell = cellAt(event->position().toPoint());
  if (event->button() == Qt::LeftButton && cell.isValid()) setCursor(cell);
  ScreenPlot::mousePressEvent(event);
}

void HeatmapPlot::focusInEvent(QFocusEvent* event) {
  ScreenPlot::focusInEvent(event);
  replotOverlaySoon();
}

void HeatmapPlot::focusOutEvent(QFocusEvent* event) {
  ScreenPlot::focusOutEvent(event);
  replotOverlaySoon();
}

void HeatmapPlot::changeEvent(QEvent* event) {
  ScreenPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyPalette();
}

}  // namespace lamina::studio
