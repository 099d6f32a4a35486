import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { FAILURE_REASONS, REFUSAL_REASONS } from '../../src/domain/order/reason.ts'
import { metricsIn } from '../support/promql.ts'
import { servedNames } from '../support/served-metrics.ts'

type Rule = {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: { readonly severity?: string }
  readonly annotations?: Readonly<Record<string, string>>
}
type Case = { readonly alertname: string; readonly exp_alerts: readonly unknown[] }
type Inhibition = {
  readonly source_matchers: readonly string[]
  readonly target_matchers: readonly string[]
}

const DIR = 'config/prometheus'
const TESTS = join(DIR, 'tests')
const RUNBOOK = readFileSync('docs/alerts.md', 'utf8')

const alerts = rulesOf('alerts.rules.yml')
const recordings = rulesOf('recording.rules.yml')
const names = alerts.map(({ alert = '' }) => alert)

function rulesOf(file: string): readonly Rule[] {
  const { groups } = read(join(DIR, file)) as { groups: readonly { rules: readonly Rule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

function read(file: string): unknown {
  return parse(readFileSync(file, 'utf8'))
}

const cases = readdirSync(TESTS).flatMap((file) => {
  const { tests } = read(join(TESTS, file)) as {
    tests: readonly { alert_rule_test: readonly Case[] }[]
  }
  return tests.flatMap(({ alert_rule_test }) => alert_rule_test)
})

test('every alert has a test case that fires and one that stays silent, and every case has an alert', () => {
  const fired = new Set(cases.filter((each) => each.exp_alerts.length > 0).map(nameOf))
  const silent = new Set(cases.filter((each) => each.exp_alerts.length === 0).map(nameOf))
  expect([...fired].sort()).toEqual(names.toSorted())
  expect([...silent].sort()).toEqual(names.toSorted())
})

function nameOf({ alertname }: Case): string {
  return alertname
}

test('every alert has a runbook section, every section an alert, and the annotation links there', () => {
  const sections = [...RUNBOOK.matchAll(/^### (\w+)$/gm)].map(([, name]) => name ?? '')
  expect(sections).toEqual(names)
  for (const { alert = '', annotations } of alerts)
    expect(annotations?.['runbook_url'], alert).toBe(
      `{{ or $externalLabels.tranched_docs "docs" }}/alerts.md#${alert.toLowerCase()}`,
    )
})

test('every runbook section covers meaning, impact, checks and fix', () => {
  const sections = RUNBOOK.split(/^### /m).slice(1)
  for (const section of sections) {
    const parts = [...section.matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, part]) => part)
    expect(parts, section.split('\n', 1)[0]).toEqual(['Meaning', 'Impact', 'Check', 'Fix'])
  }
})

test('every link within the runbook has a target', () => {
  const headings = [...RUNBOOK.matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => anchorOf(text))
  const links = [...RUNBOOK.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor)
  expect(links.length).toBeGreaterThan(10)
  expect(links.filter((anchor) => !headings.includes(anchor ?? ''))).toEqual([])
})

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replace(/\s/g, '-')
}

test('the runbook covers every failure and refusal reason', () => {
  const [, failed = ''] = RUNBOOK.split('### TranchedOrderFailed\n')
  const [ofFailures = '', refused = ''] = failed.split('### TranchedOrderRefused\n')
  const [ofRefusals = ''] = refused.split('\n### ', 1)
  for (const reason of FAILURE_REASONS)
    expect(ofFailures, reason).toContain(
      reason.startsWith('limit-') ? '`limit-...`' : `\`${reason}\``,
    )
  for (const reason of REFUSAL_REASONS) expect(ofRefusals, reason).toContain(`\`${reason}\``)
})

test('every alert has a routed severity, a summary and a description', () => {
  const { route } = read(join(DIR, 'alertmanager.example.yml')) as {
    route: { routes: readonly { matchers: readonly string[] }[] }
  }
  const routed = route.routes.map(({ matchers }) => matchers.join())
  for (const { alert, labels, annotations } of alerts) {
    expect(routed, alert).toContain(`severity="${labels?.severity}"`)
    expect(annotations?.['summary'], alert).toMatch(
      /\{\{ \$labels\.instance \}\}|\$labels\.instance/,
    )
    expect(annotations?.['description']?.length, alert).toBeGreaterThan(40)
  }
})

test('inhibition rules name only existing alerts', () => {
  const { inhibit_rules } = read(join(DIR, 'alertmanager.example.yml')) as {
    inhibit_rules: readonly Inhibition[]
  }
  const named = inhibit_rules
    .flatMap(({ source_matchers, target_matchers }) => [...source_matchers, ...target_matchers])
    .flatMap((matcher) => matcher.match(/Tranched\w+/g) ?? [])
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !names.includes(name))).toEqual([])
})

test('rules use only metrics that the daemon, Prometheus or a recording rule provides', async () => {
  const known = new Set([
    ...(await servedNames()),
    ...recordings.map(({ record = '' }) => record),
    'up',
  ])
  for (const { expr, alert, record } of [...alerts, ...recordings]) {
    const used = metricsIn(expr)
    expect(used.length, `${alert ?? record}`).toBeGreaterThan(0)
    expect(
      used.filter((name) => !known.has(name)),
      `${alert ?? record}`,
    ).toEqual([])
  }
})
