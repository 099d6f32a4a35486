import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import {
  freePort,
  type Running,
  runProcess,
  startProcess,
  temporaryDirectory,
} from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { findBinary } from './binary.ts'

const RULES = join(ROOT, 'config/prometheus')

type Series = {
  readonly metric: Readonly<Record<string, string>>
  readonly value: [number, string]
}

/** Metrics that dashboards and alerts use: the daemon's own names, as the gasless venue fills them. */
const NAMES = [
  'tranched_build_info',
  'tranched_fills_total',
  'tranched_journal_append_duration_seconds_bucket',
  'tranched_journal_records_total',
  'tranched_last_fill_timestamp_seconds',
  'tranched_next_slot_timestamp_seconds',
  'tranched_open_permits',
  'tranched_order_duration_seconds_bucket',
  'tranched_queue_depth',
  'tranched_queue_wait_seconds_bucket',
  'tranched_ratelimit_remaining',
  'tranched_request_duration_seconds_bucket',
  'tranched_requests_total',
  'tranched_slot_lateness_seconds_bucket',
  'tranched_slots_total',
  'tranched_unresolved_intents',
  'tranched_wallet_balance',
]

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let daemon: Running
let prometheus: Running
let daemonUrl: string
let prometheusUrl: string

beforeAll(async () => {
  directory = await temporaryDirectory()
  const [daemonPort, prometheusPort] = [await freePort(), await freePort()]
  daemonUrl = `http://127.0.0.1:${daemonPort}`
  prometheusUrl = `http://127.0.0.1:${prometheusPort}`
  const stateDir = join(directory.path, 'state')
  const flags = ['--state-dir', stateDir, '--http-port', `${daemonPort}`]
  daemon = startProcess(process.execPath, [
    PROGRAM,
    'run',
    '--config',
    'config/sandbox.yaml',
    ...flags,
  ])
  prometheus = await startPrometheus(daemonPort, prometheusPort)
})

afterAll(async () => {
  await Promise.all([daemon?.stop(), prometheus?.stop()])
  await directory?.remove()
})

async function startPrometheus(daemonPort: number, port: number): Promise<Running> {
  const storage = join(directory.path, 'tsdb')
  const config = join(directory.path, 'prometheus.yml')
  const rules = join(directory.path, 'rules')
  await Promise.all([mkdir(storage), mkdir(rules)])
  // Some groups have an evaluation interval of a minute, which a run of seconds does not reach.
  for (const file of readdirSync(RULES).filter((name) => name.endsWith('.rules.yml'))) {
    const text = readFileSync(join(RULES, file), 'utf8')
    await writeFile(join(rules, file), text.replaceAll(/^ +interval: 1m\n/gm, ''))
  }
  await writeFile(
    config,
    [
      'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }',
      `rule_files: [${rules}/*.rules.yml]`,
      'scrape_configs:',
      '  - job_name: tranched',
      `    static_configs: [{ targets: ["127.0.0.1:${daemonPort}"] }]`,
    ].join('\n'),
  )
  return startProcess(findBinary('prometheus'), [
    `--config.file=${config}`,
    `--storage.tsdb.path=${storage}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ])
}

async function query(promql: string): Promise<readonly Series[]> {
  const url = `${prometheusUrl}/api/v1/query?query=${encodeURIComponent(promql)}`
  const answer = (await (await fetch(url)).json()) as {
    status: string
    data: { result: readonly Series[] }
  }
  if (answer.status !== 'success') throw new Error(`query failed: ${JSON.stringify(answer)}`)
  return answer.data.result
}

function firstAnswer(promql: string): Promise<readonly Series[]> {
  const read = () => query(promql)
  return waitFor(`an answer to ${promql}`, read, ({ length }) => length > 0).catch(
    (error: unknown) => {
      throw new Error(`daemon output:\n${daemon.output().slice(-3_000)}`, { cause: error })
    },
  )
}

test('Prometheus scrapes the running daemon and sees its fills at both venues', async () => {
  for (const venue of ['gasless', 'aggregated']) {
    const fills = await firstAnswer(`tranched_fills_total{venue="${venue}"} > 0`)
    expect(fills[0]?.metric['strategy']).toMatch(/^[a-z0-9-]+$/)
  }
  expect(await query('up{job="tranched"} == 1')).toHaveLength(1)
})

test('rates and quantiles over the scraped series can be computed', async () => {
  const busy = await firstAnswer('sum(rate(tranched_requests_total[30s])) > 0')
  expect(Number(busy[0]?.value[1])).toBeGreaterThan(0)
  const slow = await firstAnswer(
    'histogram_quantile(0.5, sum by (le) (rate(tranched_order_duration_seconds_bucket[30s]))) > 0',
  )
  expect(Number(slow[0]?.value[1])).toBeLessThan(60)
})

test('every documented series of the venue reaches Prometheus', async () => {
  await firstAnswer('tranched_fills_total > 0')
  const series = await firstAnswer('group by (__name__) ({__name__=~"tranched_.+"})')
  expect(series.map(({ metric }) => metric['__name__']).sort()).toEqual(
    expect.arrayContaining(NAMES),
  )
})

test("promtool accepts the running daemon's metrics", async () => {
  await firstAnswer('tranched_fills_total > 0')
  const input = await (await fetch(`${daemonUrl}/metrics`)).text()
  const promtool = findBinary('promtool')
  expect(await runProcess(promtool, ['check', 'metrics'], { input })).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

test('no label holds an id, a hash or an address', async () => {
  const input = await (await fetch(`${daemonUrl}/metrics`)).text()
  const values = [...input.matchAll(/[a-z_]+="([^"]*)"/g)].map((match) => match[1] ?? '')
  expect(values.length).toBeGreaterThan(50)
  expect(values.filter((value) => /0x|:\d|[0-9a-f]{16}/.test(value))).toEqual([])
})

test('the probes of a trading daemon answer 200', async () => {
  for (const path of ['healthz', 'readyz'])
    expect((await fetch(`${daemonUrl}/${path}`)).status, path).toBe(200)
})

type Panel = {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** Variables that Grafana fills in. */
const CHOSEN: readonly (readonly [RegExp, string])[] = [
  [/\$instance/g, '.+'],
  [/\$strategy/g, 'buy-weth'],
  [/\$__rate_interval/g, '20s'],
  [/\$__range/g, '1m'],
]

function panelQueries(): readonly { readonly panel: string; readonly expr: string }[] {
  const dir = join(ROOT, 'config/grafana/dashboards')
  return readdirSync(dir).flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(join(dir, file), 'utf8')) as {
      panels: readonly Panel[]
    }
    return panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({
        panel: `${file}: ${title}`,
        expr: CHOSEN.reduce((text, [name, value]) => text.replace(name, value), expr),
      })),
    )
  })
}

/** A quantile without samples is a series, but shows nothing. */
async function shows(expr: string): Promise<boolean> {
  return (await query(expr)).some(({ value }) => !Number.isNaN(Number(value[1])))
}

test('every query of every dashboard returns data after a run of both venues', async () => {
  const queries = panelQueries()
  expect(queries.length).toBeGreaterThan(80)
  expect(queries.filter(({ expr }) => expr.includes('$'))).toEqual([])
  let missing = queries
  // The GasTank's runway is known at its first check, every fifteen seconds.
  const read = async () => {
    const answers = await Promise.all(missing.map(({ expr }) => shows(expr)))
    missing = missing.filter((_, index) => !answers[index])
    return missing
  }
  await waitFor('data of every query', read, [])
})

test('no alert is even pending in a healthy run', async () => {
  // The sandbox's TWAP schedule has its own amount as its total, and its deposit was made before the first check.
  const usual = 'TranchedTotalNearlySpent|TranchedRunwayShort'
  // Each group of rules has its own evaluation time: wherever they are, none may have fired.
  for (const known of ['count(tranched_fills_total > 0) > 5', 'strategy:tranched_cap_used:ratio'])
    expect(await firstAnswer(known)).not.toEqual([])
  expect(await query(`ALERTS{alertname!~"${usual}"}`)).toEqual([])
})
