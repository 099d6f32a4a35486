import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  type DashboardLink,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DATASOURCE } from './panels.ts'

/** Tag of all dashboards, by which they link each other. */
const TAG = 'tranched'

export type Section = { readonly title: string; readonly panels: readonly Builder<Panel>[] }

/** A dashboard with its own address: the panels seen first, and then sections. */
export type Sheet = {
  readonly uid: string
  readonly title: string
  readonly about: string
  /** A row of numbers. */
  readonly first: readonly Builder<Panel>[]
  readonly sections: readonly Section[]
  /** Whether it shows one strategy at a time. */
  readonly byStrategy?: boolean
}

/** Grafana's JSON of a declared dashboard. It never depends on when or where it is made. */
export function dashboardOf(sheet: Sheet): Dashboard {
  const { uid, title, about, first, sections, byStrategy = false } = sheet
  const dashboard = new DashboardBuilder(title)
    .uid(uid)
    .description(about)
    .tags([TAG])
    .time({ from: 'now-24h', to: 'now' })
    .timezone('browser')
    .refresh('1m')
    .tooltip(DashboardCursorSync.Crosshair)
    .editable()
    .link({ build: linkToOthers })
    .withVariable(
      new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'),
    )
    .withVariable(
      valuesOf('instance', 'tranched_build_info{job="tranched"}')
        .label('Daemon')
        .multi(true)
        .includeAll(true)
        .allValue('.+')
        .current({ selected: true, text: 'All', value: '$__all' }),
    )
  if (byStrategy)
    dashboard.withVariable(
      valuesOf('strategy', 'tranched_unfilled_total{job="tranched", instance=~"$instance"}').label(
        'Strategy',
      ),
    )
  for (const panel of first) dashboard.withPanel(panel)
  for (const section of sections) {
    dashboard.withRow(new RowBuilder(section.title))
    for (const panel of section.panels) dashboard.withPanel(panel)
  }
  const built = dashboard.build()
  // Links to a panel use its number.
  built.panels?.forEach((panel, index) => {
    panel.id = index + 1
  })
  return built
}

/** Without an explicit position, Grafana puts it above the dashboard, in every version. */
function linkToOthers(): DashboardLink {
  const { placement: _, ...link } = new DashboardLinkBuilder('tranched')
    .type(DashboardLinkType.Dashboards)
    .tags([TAG])
    .includeVars(true)
    .keepTime(true)
    .icon('external link')
    .build()
  return link
}

function valuesOf(label: string, series: string): QueryVariableBuilder {
  return new QueryVariableBuilder(label)
    .datasource(DATASOURCE)
    .query({ query: `label_values(${series}, ${label})`, refId: label })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
}
