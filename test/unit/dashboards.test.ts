import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboards } from '../../scripts/grafana/dashboards.ts'
import { metricsIn } from '../support/promql.ts'
import { servedNames } from '../support/served-metrics.ts'

type Panel = {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
}
type Dashboard = {
  readonly uid: string
  readonly title: string
  readonly links: readonly { readonly type: string; readonly tags: readonly string[] }[]
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly Panel[]
}

const DIR = 'config/grafana/dashboards'
const GRID = 24

const files = readdirSync(DIR)
const read = (file: string): Dashboard =>
  JSON.parse(readFileSync(join(DIR, file), 'utf8')) as Dashboard
const all = files.map(read)
const panels = all.flatMap(({ uid, panels: of }) =>
  of
    .filter(({ type }) => type !== 'row')
    .map((panel) => ({ ...panel, where: `${uid}: ${panel.title}` })),
)

test('the dashboards are what scripts/grafana says', () => {
  const said = Object.entries(dashboards())
  expect(said.map(([file]) => file).sort()).toEqual(files.toSorted())
  for (const [file, dashboard] of said)
    expect(`${JSON.stringify(dashboard, null, 2)}\n`, `${file}: run npm run dashboards`).toBe(
      readFileSync(join(DIR, file), 'utf8'),
    )
})

test('each has an address of its own, a way to the others, and asks which Prometheus and which daemon', () => {
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(files.length)
  for (const { uid, links, templating } of all) {
    expect(links, uid).toMatchObject([{ type: 'dashboards', tags: ['tranched'] }])
    const asked = templating.list.map(({ name }) => name)
    expect(asked.slice(0, 2), uid).toEqual(['datasource', 'instance'])
    expect(asked.includes('strategy'), uid).toBe(uid === 'tranched-strategy')
  }
})

test('every panel says what it shows, in a unit, and has a number and a place of its own', () => {
  expect(panels.length).toBeGreaterThan(70)
  for (const { where, description = '', fieldConfig, type } of panels) {
    expect(description, where).toMatch(/\.$/)
    if (type !== 'table') expect(fieldConfig?.defaults.unit, where).toMatch(/\w/)
  }
  for (const { uid, panels: of } of all) {
    expect(new Set(of.map(({ id }) => id)).size, uid).toBe(of.length)
    const places = of.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => (y + Math.floor(at / w)) * GRID + x + (at % w)),
    )
    expect(new Set(places).size, uid).toBe(places.length)
    for (const { title, gridPos } of of)
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(GRID)
  }
})

test('every query is of the chosen daemons, and asks only for metrics that they serve', async () => {
  const known = new Set([...(await servedNames()), 'up', 'ALERTS'])
  for (const { where, targets = [] } of panels) {
    expect(targets.length, where).toBeGreaterThan(0)
    for (const { expr } of targets) {
      expect(
        metricsIn(expr).filter((name) => !known.has(name)),
        where,
      ).toEqual([])
      for (const selector of expr.match(/\{[^}]*\}/g) ?? [])
        expect(selector, where).toContain('instance=~"$instance"')
    }
  }
})

test('series of one graph are told apart by their names', () => {
  for (const { where, type, targets = [] } of panels) {
    if (type !== 'timeseries') continue
    const legends = targets.map(({ legendFormat }) => legendFormat)
    expect(
      legends.every((legend) => legend.length > 0),
      where,
    ).toBe(true)
    expect(new Set(legends).size, where).toBe(legends.length)
  }
})

test('what provisions them names a Prometheus, and a folder of files', () => {
  const provisioning = 'config/grafana/provisioning'
  const { datasources } = parse(
    readFileSync(join(provisioning, 'datasources/prometheus.yml'), 'utf8'),
  ) as { datasources: readonly unknown[] }
  expect(datasources).toMatchObject([{ type: 'prometheus', isDefault: true }])
  const { providers } = parse(
    readFileSync(join(provisioning, 'dashboards/tranched.yml'), 'utf8'),
  ) as { providers: readonly unknown[] }
  expect(providers).toMatchObject([{ type: 'file', options: { path: expect.any(String) } }])
})
