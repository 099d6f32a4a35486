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

test('the dashboards match scripts/grafana', () => {
  const generated = Object.entries(dashboards())
  expect(generated.map(([file]) => file).sort()).toEqual(files.toSorted())
  for (const [file, dashboard] of generated)
    expect(`${JSON.stringify(dashboard, null, 2)}\n`, `${file}: run npm run dashboards`).toBe(
      readFileSync(join(DIR, file), 'utf8'),
    )
})

test('each dashboard has a unique uid, links to the others, and variables for Prometheus and daemon', () => {
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(files.length)
  for (const { uid, links, templating } of all) {
    expect(links, uid).toMatchObject([{ type: 'dashboards', tags: ['tranched'] }])
    const variables = templating.list.map(({ name }) => name)
    expect(variables.slice(0, 2), uid).toEqual(['datasource', 'instance'])
    expect(variables.includes('strategy'), uid).toBe(uid === 'tranched-strategy')
  }
})

test('every panel has a description, a unit, a unique id and its own grid position', () => {
  expect(panels.length).toBeGreaterThan(70)
  for (const { where, description = '', fieldConfig, type } of panels) {
    expect(description, where).toMatch(/\.$/)
    if (type !== 'table') expect(fieldConfig?.defaults.unit, where).toMatch(/\w/)
  }
  for (const { uid, panels: of } of all) {
    expect(new Set(of.map(({ id }) => id)).size, uid).toBe(of.length)
    const cells = of.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => (y + Math.floor(at / w)) * GRID + x + (at % w)),
    )
    expect(new Set(cells).size, uid).toBe(cells.length)
    for (const { title, gridPos } of of)
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(GRID)
  }
})

test('every query selects the chosen daemons and uses only served metrics', async () => {
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

test('series of one graph have distinct names', () => {
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

test('money names its token, and ether its unit', () => {
  const isMoney = (expr: string) => /tranched_(portfolio_value|profit|cost_basis)\b/.test(expr)
  const isEther = (expr: string) =>
    /tranched_(gastank_(available|outstanding)_ether|fees_total)\b/.test(expr) &&
    !expr.includes('alert_below')
  const drawn = panels.filter(({ type }) => type !== 'table')
  const withQuery = (is: (expr: string) => boolean) =>
    drawn.filter(({ targets = [] }) => targets.some(({ expr }) => is(expr)))
  expect(withQuery(isMoney).length).toBeGreaterThan(6)
  expect(withQuery(isEther).length).toBeGreaterThan(4)
  for (const { where, targets = [], fieldConfig } of withQuery(isMoney)) {
    expect(fieldConfig?.defaults.unit, where).toBe('locale')
    for (const { legendFormat } of targets) expect(legendFormat, where).toContain('{{value_token}}')
  }
  for (const { where, fieldConfig } of withQuery(isEther))
    expect(fieldConfig?.defaults.unit, where).toBe('suffix: ETH')
})

test('provisioning names a Prometheus and a folder of files', () => {
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
