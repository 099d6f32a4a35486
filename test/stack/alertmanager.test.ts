import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { createHttpServer, type HttpServer } from '../../src/control/http/http-server.ts'
import { ROOT } from '../support/process/cli.ts'
import {
  freePort,
  type Running,
  startProcess,
  temporaryDirectory,
} from '../support/process/programs.ts'
import { servedMetrics } from '../support/served-metrics.ts'
import { waitFor } from '../support/wait-for.ts'
import { findBinary } from './binary.ts'

/** One alert in a message of the Alertmanager. */
type Alert = {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}
/** As the Alertmanager's own API returns it. */
type Held = {
  readonly labels: Readonly<Record<string, string>>
  readonly status: { readonly state: string; readonly inhibitedBy: readonly string[] }
}

const HOST = '127.0.0.1'
const EXAMPLES = join(ROOT, 'config/prometheus')
const RULES = ['recording.rules.yml', 'alerts.rules.yml']
/** The shipped rules wait for minutes. */
const SOON = '1s'
const DOCS = 'https://git.example/tranched/blob/main/docs'

const { metrics, state } = servedMetrics()
/** Alerts by receiver. */
const received = new Map<string, Alert[]>()
let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let daemon: HttpServer
let receiver: Server
let alertmanager: Running
let alertmanagerUrl: string
let prometheus: Running

beforeAll(async () => {
  directory = await temporaryDirectory()
  metrics.registerStrategies([{ name: 'weekly-eth' }])
  const healthy = { ok: true, reasons: [] }
  const probes = { health: () => healthy, ready: () => healthy }
  daemon = await createHttpServer({ host: HOST, port: 0, metrics, ...probes })
  receiver = startReceiver()
  const [port, prometheusPort, receiverPort] = [
    await freePort(),
    await freePort(),
    await portOf(receiver),
  ]
  alertmanagerUrl = `http://${HOST}:${port}`
  alertmanager = await startAlertmanager(port, receiverPort)
  prometheus = await startPrometheus(prometheusPort, port)
})

afterAll(async () => {
  await Promise.all([prometheus?.stop(), alertmanager?.stop(), daemon?.close()])
  receiver?.closeAllConnections()
  receiver?.close()
  await directory?.remove()
})

/** Records the messages that the Alertmanager sends to each receiver. */
function startReceiver(): Server {
  return createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const name = (request.url ?? '').slice(1)
      const { alerts } = JSON.parse(body) as { alerts: readonly Alert[] }
      received.set(name, [...(received.get(name) ?? []), ...alerts])
      response.end()
    })
  })
}

function portOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, HOST, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

/** The example with other receivers and short intervals. */
async function startAlertmanager(port: number, receiverPort: number): Promise<Running> {
  const text = await readFile(join(EXAMPLES, 'alertmanager.example.yml'), 'utf8')
  const config = join(directory.path, 'alertmanager.yml')
  await writeFile(
    config,
    text
      .replaceAll('127.0.0.1:9095', `${HOST}:${receiverPort}`)
      .replaceAll(/(group_wait|group_interval): \w+/g, `$1: ${SOON}`),
  )
  const storage = join(directory.path, 'alertmanager')
  await mkdir(storage)
  return startProcess(findBinary('prometheus-alertmanager'), [
    `--config.file=${config}`,
    `--storage.path=${storage}`,
    `--web.listen-address=${HOST}:${port}`,
    // No cluster: it searches for no peers.
    '--cluster.listen-address=',
  ])
}

type PrometheusConfig = {
  global: Record<string, unknown>
  rule_files: readonly string[]
  scrape_configs: readonly { static_configs: { targets: readonly string[] }[] }[]
  alerting: { alertmanagers: readonly { static_configs: { targets: readonly string[] }[] }[] }
}

/** The examples with other addresses and short intervals. */
async function startPrometheus(port: number, alertmanagerPort: number): Promise<Running> {
  const example = await readFile(join(EXAMPLES, 'prometheus.example.yml'), 'utf8')
  const config = parse(example) as PrometheusConfig
  Object.assign(config.global, {
    scrape_interval: SOON,
    scrape_timeout: SOON,
    evaluation_interval: SOON,
  })
  for (const { static_configs } of config.scrape_configs)
    for (const each of static_configs) each.targets = [`${HOST}:${daemon.port}`]
  for (const { static_configs } of config.alerting.alertmanagers)
    for (const each of static_configs) each.targets = [`${HOST}:${alertmanagerPort}`]
  expect(config.rule_files).toEqual(RULES)
  for (const file of RULES) {
    const rules = await readFile(join(EXAMPLES, file), 'utf8')
    await writeFile(
      join(directory.path, file),
      rules.replaceAll(/^( +(?:for|interval)): \w+$/gm, `$1: ${SOON}`),
    )
  }
  const file = join(directory.path, 'prometheus.yml')
  await writeFile(file, stringify(config))
  return startProcess(findBinary('prometheus'), [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(directory.path, 'tsdb')}`,
    `--web.listen-address=${HOST}:${port}`,
  ])
}

function receivedBy(
  receiverName: string,
  alertname: string,
  status: Alert['status'],
): Promise<Alert> {
  return waitFor(`${alertname} ${status} at ${receiverName}`, () =>
    received
      .get(receiverName)
      ?.find((each) => each.labels['alertname'] === alertname && each.status === status),
  ).catch((error: unknown) => {
    const said = [prometheus, alertmanager].map((each) => each.output().slice(-2_000)).join('\n')
    throw new Error(`received so far: ${JSON.stringify([...received])}\n${said}`, { cause: error })
  })
}

async function held(alertname: string): Promise<Held | undefined> {
  const answer = await fetch(`${alertmanagerUrl}/api/v2/alerts`)
  const alerts = (await answer.json()) as readonly Held[]
  return alerts.find(({ labels }) => labels['alertname'] === alertname)
}

test('a halt notifies the day receiver with its runbook, and suppresses the alerts that it causes', async () => {
  metrics.halted.set(1)
  const halted = await receivedBy('day', 'TranchedHalted', 'firing')
  expect(halted.labels).toEqual({
    alertname: 'TranchedHalted',
    instance: 'alpha',
    job: 'tranched',
    severity: 'warning',
  })
  expect(halted.annotations).toEqual({
    summary: 'tranched alpha is halted',
    description: 'alpha signs nothing new until `tranched resume`. Its slots are skipped.',
    runbook_url: `${DOCS}/alerts.md#tranchedhalted`,
  })

  metrics.slots.inc({ strategy: 'weekly-eth', outcome: 'skipped' })
  metrics.skips.inc({ strategy: 'weekly-eth', reason: 'insufficient-balance' })
  const skipped = await waitFor('the skipped slot at the Alertmanager', () =>
    held('TranchedSlotsSkipped'),
  )
  expect(skipped.status).toMatchObject({ state: 'suppressed' })
  expect(skipped.status.inhibitedBy).toHaveLength(1)
  expect(received.get('day')?.map(({ labels }) => labels['alertname'])).not.toContain(
    'TranchedSlotsSkipped',
  )
})

test('evidence of lost state notifies the night receiver', async () => {
  state.halted = { atMs: Date.now(), cause: 'evidence', detail: 'an unknown transaction' }
  const { annotations } = await receivedBy('night', 'TranchedEvidenceOfLostState', 'firing')
  expect(annotations['runbook_url']).toBe(`${DOCS}/alerts.md#tranchedevidenceofloststate`)
})

test('the end of a halt is notified, and then the alerts that it suppressed', async () => {
  state.halted = undefined
  metrics.halted.set(0)
  await receivedBy('night', 'TranchedEvidenceOfLostState', 'resolved')
  await receivedBy('day', 'TranchedHalted', 'resolved')
  const { labels } = await receivedBy('day', 'TranchedSlotsSkipped', 'firing')
  expect(labels).toMatchObject({ strategy: 'weekly-eth', reason: 'insufficient-balance' })
})

test('the first failure and the first refusal of a strategy are notified, although their series begin with them', async () => {
  const strategy = 'weekly-eth'
  metrics.unfilled.inc({ strategy })
  metrics.failures.inc({ strategy, venue: 'gasless', reason: 'order-failed' })
  const failed = await receivedBy('day', 'TranchedOrderFailed', 'firing')
  expect(failed.annotations['summary']).toBe('an order of weekly-eth on alpha failed: order-failed')
  metrics.unfilled.inc({ strategy })
  metrics.refusals.inc({ strategy, reason: 'digest-mismatch' })
  const refused = await receivedBy('day', 'TranchedOrderRefused', 'firing')
  expect(refused.labels).toMatchObject({ strategy, reason: 'digest-mismatch' })
})

test('a stopped daemon notifies the night receiver', async () => {
  await daemon.close()
  const { labels } = await receivedBy('night', 'TranchedDown', 'firing')
  expect(labels).toMatchObject({ instance: 'alpha', severity: 'critical' })
})
