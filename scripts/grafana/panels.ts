import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DynamicConfigValue,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stats from '@grafana/grafana-foundation-sdk/stat'
import * as tables from '@grafana/grafana-foundation-sdk/table'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'

/** Width of a dashboard, in Grafana's columns. */
const COLUMNS = 24
const STAT_HEIGHT = 4
const GRAPH_HEIGHT = 8
/** The data source chosen above the dashboard. */
export const DATASOURCE = { type: 'prometheus', uid: `\${datasource}` }

/** `legend` names a series, by its labels in braces. */
export type Query = { readonly expr: string; readonly legend: string }

type Described = {
  readonly title: string
  /** Meaning of the panel and advice, for its corner. */
  readonly about: string
  /** Grafana's name of it. */
  readonly unit: string
  readonly decimals?: number
}

/** Color thresholds. The first one starts at the lowest value. */
export type Steps = readonly (readonly [from: number | null, color: string])[]

export const GOOD_AT_0: Steps = [
  [null, 'green'],
  [1, 'red'],
]
export const NEUTRAL: Steps = [[null, 'blue']]

/** Grafana's names of units. Money has the token's name beside it, as the series' name. */
export const MONEY_UNIT = { unit: 'locale', decimals: 2 }
export const AMOUNT_UNIT = { unit: 'locale' }
export const ETHER_UNIT = { unit: 'suffix: ETH' }
export const BPS_UNIT = { unit: 'suffix: bps', decimals: 1 }
export const TIMES_UNIT = { unit: 'suffix: times', decimals: 1 }

/** One number. */
export function stat(
  spec: Described & {
    readonly expr: string
    /** Shown beside the number, by labels in braces. */
    readonly legend?: string
    readonly steps?: Steps
    /** Labels in place of values. */
    readonly labels?: Readonly<Record<string, { readonly text: string; readonly color: string }>>
    readonly span?: number
    /** With a sparkline behind the number. */
    readonly course?: boolean
  },
): Builder<Panel> {
  const { title, about, unit, expr, decimals, labels = {}, span = 4, course = false } = spec
  const { legend = '' } = spec
  const panel = new stats.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .height(STAT_HEIGHT)
    .span(span)
    .unit(unit)
    .thresholds(thresholds(spec.steps ?? NEUTRAL))
    .mappings(mappings(labels))
    .colorMode(BigValueColorMode.Value)
    .graphMode(course ? BigValueGraphMode.Area : BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
    .withTarget(course ? query({ expr, legend }, 'A') : query({ expr, legend }, 'A').instant())
  if (legend !== '') panel.textMode(BigValueTextMode.ValueAndName)
  return decimals === undefined ? panel : panel.decimals(decimals)
}

type Graph = Described & {
  readonly queries: readonly Query[]
  readonly span?: number
  readonly min?: number
  readonly max?: number
  /** Drawn as lines across the graph. */
  readonly steps?: Steps
  /** Colors by the name of a series. */
  readonly colors?: Readonly<Record<string, string>>
}

/** Time series. */
export function lines(spec: Graph): Builder<Panel> {
  return graph(spec).lineWidth(2).fillOpacity(5)
}

/** Events, as stacked bars. */
export function bars(spec: Graph): Builder<Panel> {
  return graph({ min: 0, ...spec })
    .drawStyle(GraphDrawStyle.Bars)
    .fillOpacity(70)
    .stacking(new common.StackingConfigBuilder().mode(StackingMode.Normal).group('A'))
}

/** Parts of a whole, stacked. */
export function layers(spec: Graph): Builder<Panel> {
  return graph({ min: 0, ...spec })
    .fillOpacity(30)
    .stacking(new common.StackingConfigBuilder().mode(StackingMode.Normal).group('A'))
}

function graph(spec: Graph): timeseries.PanelBuilder {
  const { title, about, unit, decimals, queries, span = 12, min, max, steps, colors = {} } = spec
  const panel = new timeseries.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .height(GRAPH_HEIGHT)
    .span(span)
    .unit(unit)
    .showPoints(VisibilityMode.Never)
    .spanNulls(false)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassicByName))
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(TooltipDisplayMode.Multi)
        .sort(SortOrder.Descending),
    )
  if (decimals !== undefined) panel.decimals(decimals)
  if (min !== undefined) panel.min(min)
  if (max !== undefined) panel.max(max)
  if (steps !== undefined)
    panel
      .thresholds(thresholds(steps))
      .thresholdsStyle(
        new common.GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed),
      )
  for (const [name, fixedColor] of Object.entries(colors))
    panel.overrideByName(name, [{ id: 'color', value: { mode: 'fixed', fixedColor } }])
  panel.targets(queries.map((each, index) => query(each, refOf(index))))
  return panel
}

/** A column of values: those of one query, each in the row of its labels. */
export type Column = {
  readonly name: string
  readonly expr: string
  readonly unit: string
  readonly decimals?: number
  /** Colors the cell's text. */
  readonly steps?: Steps
}

/** One row for each set of labels, one column for each query. */
export function table(
  spec: Pick<Described, 'title' | 'about'> & {
    /** Labels and their headings. */
    readonly rows: Readonly<Record<string, string>>
    readonly columns: readonly Column[]
    readonly span?: number
    readonly height?: number
    /** A column's name, largest first. */
    readonly sortedBy?: string
    /** By a label's heading: the target of a click on it. */
    readonly links?: Readonly<Record<string, { readonly title: string; readonly url: string }>>
  },
): Builder<Panel> {
  const { title, about, rows, columns, span = COLUMNS, height = 10, sortedBy, links = {} } = spec
  const headingOf = (index: number): string =>
    columns.length === 1 ? 'Value' : `Value #${refOf(index)}`
  const names = columns.map(({ name }, index) => [headingOf(index), name] as const)
  const panel = new tables.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .height(height)
    .span(span)
    .filterable(true)
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true },
        renameByName: { ...rows, ...Object.fromEntries(names) },
      },
    })
  if (sortedBy !== undefined)
    panel.sortBy([new common.TableSortByFieldStateBuilder().displayName(sortedBy).desc(true)])
  columns.forEach((column, index) => {
    const target = query({ expr: column.expr, legend: '' }, refOf(index))
    panel.withTarget(target.format(PromQueryFormat.Table).instant())
    panel.overrideByName(column.name, propertiesOf(column))
  })
  for (const [name, link] of Object.entries(links))
    panel.overrideByName(name, [{ id: 'links', value: [link] }])
  return panel
}

function propertiesOf({ unit, decimals, steps }: Column): DynamicConfigValue[] {
  return [
    { id: 'unit', value: unit },
    ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
    ...(steps === undefined
      ? []
      : [
          { id: 'custom.cellOptions', value: { type: 'color-text' } },
          { id: 'thresholds', value: thresholds(steps).build() },
          { id: 'color', value: { mode: 'thresholds' } },
        ]),
  ]
}

function query({ expr, legend }: Query, refId: string): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .expr(expr)
    .legendFormat(legend)
    .range()
    .refId(refId)
}

function refOf(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index)
}

function thresholds(steps: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(steps.map(([value, color]): Threshold => ({ value, color })))
}

function mappings(
  labels: Readonly<Record<string, { readonly text: string; readonly color: string }>>,
): ValueMapping[] {
  if (Object.keys(labels).length === 0) return []
  return [{ type: MappingType.ValueToText, options: { ...labels } }]
}
