import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { writeSandboxConfig } from '../../src/sandbox/config-files.ts'
import type { OrderRecord } from '../../src/sandbox/gasless/order-store.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { launch, ROOT, type Running, type StartOptions, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'

/** Output of `tranched sandbox --json` about itself. */
export type SandboxReport = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly adminUrl: string
  readonly trader: string
}

/** Longer than any test. A process reaches it only when the test runner itself is killed. */
export const LEASH = ['--for', '4m'] as const
/** Longer than all tests of a file. */
const LONG_LEASH = ['--for', '20m'] as const

/** A running sandbox, and the files of a daemon that trades on it. */
export type Rehearsal = {
  readonly dir: string
  readonly config: string
  readonly stateDir: string
  readonly report: SandboxReport
  /** Output of the sandbox so far. */
  readonly sandboxOutput: () => string
  /** The wallet's key as the sandbox wrote it, for searching output for it. */
  readonly key: string
  /** State of wallet and service at the beginning. */
  readonly before: Baseline
  /** Every daemon that was started on it. */
  readonly daemons: readonly Running[]
  daemon(args?: readonly string[], options?: StartOptions): Running
  /** Replaces the sandbox's faults. */
  fault(rules: readonly Readonly<Record<string, unknown>>[]): Promise<void>
}

/** Base units by token symbol; ETH among them. */
export type Balances = ReadonlyMap<string, bigint>

export type Baseline = {
  readonly balances: Balances
  /** Transactions that the wallet has sent. */
  readonly nonce: bigint
  /** Orders that the service has taken. */
  readonly orderIds: ReadonlySet<string>
}

/** Strategy files by name. Text is written unchanged; an object becomes YAML. */
export type StrategyFiles = Readonly<Record<string, string | object>>

/** A DCA strategy that is due every second, for tests that need any orders. */
export function everySecond(name: string, changes: object = {}): StrategyFiles {
  return {
    [name]: {
      name,
      kind: 'dca',
      schedule: { cron: '* * * * * *', missed: 'all', maxLateness: '10m' },
      sell: 'USDC',
      buy: 'WETH',
      amount: '25',
      limits: { perDay: '4000000' },
      ...changes,
    },
  }
}

export const EXAMPLES = ['buy-weth', 'buy-exact-weth', 'dai-to-eth', 'eth-to-usdc'] as const

/** The shipped sandbox strategies on a faster schedule. */
export function examples(cron: string): StrategyFiles {
  return Object.fromEntries(
    EXAMPLES.map((name) => {
      const text = readFileSync(join(ROOT, `strategies/sandbox/${name}.yaml`), 'utf8')
      return [name, text.replace(/cron: "[^"]+"/, `cron: "${cron}"`)]
    }),
  )
}

/** Writes strategy files into `dir`, and creates it. */
export function writeStrategies(dir: string, files: StrategyFiles): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (const [name, file] of Object.entries(files)) {
    const text = typeof file === 'string' ? file : stringify(file)
    writeFileSync(join(dir, `${name}.yaml`), text, { mode: 0o600 })
  }
}

/** Starts a sandbox process with the given flags, and a config for the daemon; all of it ends with the test. */
export async function startRehearsal(
  files: StrategyFiles,
  flags: readonly string[] = [],
): Promise<Rehearsal> {
  const { dir, strategiesDir, stateDir, config } = layOut(files)
  const args = ['--config-out', config, '--state-dir', stateDir, '--strategies-dir', strategiesDir]
  const sandbox = start(['sandbox', '--json', ...LEASH, ...args, ...flags])
  const [text] = await sandbox.sees(/^\{[\s\S]*^\}$/m)
  return rehearse({ dir, stateDir, config }, JSON.parse(text), sandbox.output)
}

/**
 * A sandbox that the tests of a file use one after the other, because starting one takes as long as a short test. Each
 * test has its own files, state and records; only the wallet and the chain are shared.
 */
export function sharedSandbox(): (files: StrategyFiles) => Promise<Rehearsal> {
  const base = mkdtempSync(join(tmpdir(), 'tranched-sandbox-'))
  const written = join(base, 'live.yaml')
  let sandbox: Running | undefined
  let report: SandboxReport | undefined
  beforeAll(async () => {
    sandbox = launch(['sandbox', '--json', ...LONG_LEASH, '--config-out', written])
    const [text] = await sandbox.sees(/^\{[\s\S]*^\}$/m)
    report = JSON.parse(text)
  })
  afterAll(async () => {
    await sandbox?.killHard()
    rmSync(base, { recursive: true, force: true })
  })
  return async (files) => {
    if (sandbox === undefined || report === undefined) throw new Error('the sandbox did not start')
    const { dir, strategiesDir, stateDir, config } = layOut(files)
    cpSync(base, join(dir, 'config'), { recursive: true })
    const settings = parse(readFileSync(written, 'utf8').replaceAll(base, join(dir, 'config')))
    writeFileSync(config, stringify({ ...settings, stateDir, strategiesDir }))
    await untilCalm(report)
    return rehearse({ dir, stateDir, config }, report, sandbox.output)
  }
}

/**
 * Without faults, without an order that an earlier test left open, and with its payments final: a first start compares the
 * wallet from the final block on, so a later payment of another test's state would halt it.
 */
async function untilCalm(report: SandboxReport): Promise<void> {
  await adminCall(report, 'PUT', '/faults', { rules: [] })
  const open = async () =>
    (await ordersOf(report)).filter(
      ({ status }) => !['filled', 'failed', 'expired'].includes(status),
    )
  await waitFor('no open order of a test before', open, ({ length }) => length === 0)
  // The sandbox's configs call a block final under one newer one.
  for (let mined = 0; mined < 2; mined += 1) await nodeCall(report, 'evm_mine', [])
}

/** Every order that the service took, whatever its other routes report. */
export function ordersOf(report: SandboxReport): Promise<readonly OrderRecord[]> {
  return adminCall(report, 'GET', '/orders')
}

/** A rehearsal with a sandbox inside the test's own process, which has more options than the command line. */
export async function startRehearsalInside(
  files: StrategyFiles,
  options: Parameters<typeof startSandbox>[0],
): Promise<Rehearsal> {
  const { dir, strategiesDir, stateDir, config } = layOut(files)
  const sandbox = await startSandbox(options)
  onTestFinished(() => sandbox.stop())
  await writeSandboxConfig({ sandbox, file: config, stateDir, strategiesDir })
  const report = { ...sandbox, trader: sandbox.trader.address }
  return rehearse({ dir, stateDir, config }, report, () => '')
}

function layOut(files: StrategyFiles) {
  const dir = temporaryDirectory()
  const strategiesDir = join(dir, 'strategies')
  writeStrategies(strategiesDir, files)
  return { dir, strategiesDir, stateDir: join(dir, 'state'), config: join(dir, 'config/live.yaml') }
}

async function rehearse(
  paths: Pick<Rehearsal, 'dir' | 'stateDir' | 'config'>,
  report: SandboxReport,
  sandboxOutput: () => string,
): Promise<Rehearsal> {
  const daemons: Running[] = []
  return {
    ...paths,
    report,
    sandboxOutput,
    key: readFileSync(join(paths.dir, 'config/trader.key'), 'utf8').trim(),
    before: {
      balances: await balancesOf(report, paths.config),
      nonce: await nonceOf(report),
      orderIds: new Set((await ordersOf(report)).map(({ orderId }) => orderId)),
    },
    daemons,
    daemon(more = [], options = {}) {
      const args = ['run', '--config', paths.config, '--http-port', '0', ...LEASH, ...more]
      const daemon = start(args, options)
      daemons.push(daemon)
      return daemon
    },
    async fault(rules) {
      await adminCall(report, 'PUT', '/faults', { rules })
    },
  }
}

/** Points the daemon at other addresses for the service and the node. */
export function redirect(config: string, to: { gaslessUrl: string; rpcUrl: string }): void {
  const settings = parse(readFileSync(config, 'utf8'))
  settings.gasless.baseUrl = to.gaslessUrl
  settings.chains.base.rpcUrls = [to.rpcUrl]
  writeFileSync(config, stringify(settings))
}

/** A kept connection may close in the moment in which the next request is sent on it. */
const HEADERS = { 'content-type': 'application/json', connection: 'close' }

/** Calls the sandbox's admin port. Throws its error text for a bad call. */
export async function adminCall<Reply>(
  { adminUrl }: Pick<SandboxReport, 'adminUrl'>,
  method: 'GET' | 'PUT' | 'POST',
  path: string,
  body?: object,
): Promise<Reply> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const reply = await fetch(`${adminUrl}${path}`, { method, headers: HEADERS, ...sent })
  if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`)
  return (await reply.json()) as Reply
}

/** Calls the sandbox's node once. */
export async function nodeCall<Result>(
  { rpcUrl }: Pick<SandboxReport, 'rpcUrl'>,
  method: string,
  params: readonly unknown[],
): Promise<Result> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const init = { method: 'POST', headers: HEADERS, body }
  const reply = (await (await fetch(rpcUrl, init)).json()) as {
    result?: Result
    error?: { message: string }
  }
  if (reply.result === undefined) throw new Error(`${method}: ${reply.error?.message}`)
  return reply.result
}

/** How many transactions the wallet has sent. */
export async function nonceOf(report: SandboxReport): Promise<bigint> {
  return BigInt(
    await nodeCall<string>(report, 'eth_getTransactionCount', [report.trader, 'latest']),
  )
}

const BALANCE_OF = '0x70a08231'

/** The wallet's balances on the chain: coin, and every token that the config names. */
export async function balancesOf(report: SandboxReport, config: string): Promise<Balances> {
  const { tokens } = parse(readFileSync(config, 'utf8')) as {
    tokens: Record<string, { address: string }>
  }
  const owner = report.trader.slice(2).padStart(64, '0')
  const balances = new Map<string, bigint>()
  const coin = await nodeCall<string>(report, 'eth_getBalance', [report.trader, 'latest'])
  balances.set('ETH', BigInt(coin))
  for (const [symbol, { address }] of Object.entries(tokens)) {
    const call = { to: address, data: `${BALANCE_OF}${owner}` }
    balances.set(symbol, BigInt(await nodeCall<string>(report, 'eth_call', [call, 'latest'])))
  }
  return balances
}

/** The body of a daemon's /metrics. */
export async function metricsTextOf(daemon: Running): Promise<string> {
  const [, url = ''] = await daemon.sees(/metrics at (http:[^"\s]+)/)
  return (await fetch(url)).text()
}

/** Its samples, by name and labels as printed. */
export async function metricsOf(daemon: Running): Promise<ReadonlyMap<string, number>> {
  const lines = (await metricsTextOf(daemon)).split('\n')
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}
