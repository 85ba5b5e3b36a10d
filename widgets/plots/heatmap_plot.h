// SPDX-License-Identifier: GPL-3.0-or-later
// The sensitivity heatmap: layers down (0 at the top), recipes across in keep | K | V blocks, log10
// colours of the values with a colour bar in original units. Exact zeros and cells that were not
// measured have their own look; the plan's cell of every layer is outlined; a cell cursor moves
// with the arrow keys. Shows a HeatmapModel, which it does not own and which must outlive it.
#pragma once

#include <QPoint>
#include <QRectF>
#include <optional>
#include <vector>

#include "widgets/models/heatmap_model.h"
#include "widgets/plots/axis_labels.h"
#include "widgets/plots/color_map.h"
#include "widgets/plots/screen_plot.h"

namespace lamina::studio {

struct Cell {
  int layer = -1;
  int config = -1;
  bool isValid() const { return layer >= 0 && config >= 0; }
  bool operator==(const Cell&) const = default;
};

class HeatmapPlot : public ScreenPlot {
  Q_OBJECT
 public:
  explicit HeatmapPlot(HeatmapModel* model, QWidget* parent = nullptr);

  ColorMap colorMap() const { return color_map_; }
  void setColorMap(ColorMap map);

  Cell cursor() const { return cursor_; }
  // Clamped to the table; does nothing on an empty one.
  void setCursor(Cell cell);
  // The colour range in log10, never empty.
  QCPRange colorRange() const;

  // In widget coordinates, as of the last layout.
  Cell cellAt(const QPoint& position) const;
  QRectF cellRect(int layer, int config) const;
  // Labels now on the axes, for tests: layers, keep blocks, K bits, V bits, colour bar.
  QStringList tickLabels(const QString& axis) const;

  const HeatmapModel& heatmapModel() const { return *model_; }
  QSize minimumSizeHint() const override { return {420, 240}; }
  QSize sizeHint() const override { return {780, 520}; }

 signals:
  void cursorChanged(int layer, int config);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  // How the bits fit under the columns.
  enum class BitLabels { kHorizontal, kRotated, kHidden };

  void buildLayout();
  void applyPalette();
  void applyGradient();
  void rebuild();
  void refreshValues();
  void refreshRoles(const QModelIndex& first, const QModelIndex& last, const QList<int>& roles);
  void fitLabels();
  void fitColorBar();
  BitLabels bitLabels(double cell_pixels) const;
  QStringList kLabels(double group_pixels) const;
  QString bitsLabel(BitLabels v_fit, bool k_fits) const;
  void announceCursor();

  HeatmapModel* model_;
  ColorMap color_map_ = ColorMap::kCividis;
  Cell cursor_;
  QCPAxis* k_axis_ = nullptr;  // owned by the axis rect, like the plot's own axes
  QCPColorMap* cells_ = nullptr;
  QCPColorScale* scale_ = nullptr;
};

}  // namespace lamina::studio
