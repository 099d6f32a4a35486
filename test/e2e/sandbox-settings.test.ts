import { exec } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { SandboxReport } from '../../src/cli/json/author-outputs.ts'
import { type Ended, type Running, run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { adminCall, everySecond, LEASH, writeStrategies } from './rehearsal.ts'

const JSON_BODY = { 'content-type': 'application/json' }

/** A response of either service. */
type Reply = {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of many shapes
  readonly body: any
}

/** A sandbox and its own report of its settings. */
async function sandboxWith(args: readonly string[], cwd?: string) {
  const running = start(['sandbox', '--json', ...LEASH, ...args], { cwd })
  const [text] = await running.sees(/^\{[\s\S]*^\}$/m)
  return { running, report: JSON.parse(text) as SandboxReport }
}

function post(url: string, body: unknown): Promise<Reply> {
  return reply(fetch(url, { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body) }))
}

async function reply(answered: Promise<Response>): Promise<Reply> {
  const response = await answered
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** Requests a sale of an amount of USDC for WETH. */
function quote(report: SandboxReport, usdc: number, changes: object = {}): Promise<Reply> {
  return post(`${report.gaslessUrl}/api/v1/quote`, {
    chainId: report.chainId,
    from: report.trader,
    sellToken: report.tokens['USDC'],
    buyToken: report.tokens['WETH'],
    kind: 'sell',
    sellAmountBeforeFee: String(usdc * 1_000_000),
    signingScheme: 'eip712',
    ...changes,
  })
}

/** Error code of the aggregation service for a method; undefined for a result. */
async function rpcErrorOf(report: SandboxReport, method: string): Promise<number | undefined> {
  const params = [report.operator]
  const { body } = await post(report.aggregatorUrl, { jsonrpc: '2.0', id: 1, method, params })
  return body.error?.code
}

const NO_SUCH_METHOD = -32_601
const NOT_AUTHENTICATED = -32_004

/** Free ports below the range that systems hand out, so that no other process takes one meanwhile. */
async function freePorts(count: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let tries = 0; found.length < count && tries < 200; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    if (!found.includes(port) && (await isFree(port))) found.push(port)
  }
  return found
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

test('file and flags take effect on the wire, flags first, and the written config matches', async () => {
  const dir = temporaryDirectory()
  const [rpc = 0, gasless = 0, admin = 0, aggregatorRpc = 0, aggregator = 0] = await freePorts(5)
  const settings = {
    ports: { rpc, gasless, admin, aggregatorRpc, aggregator: 1 },
    market: { ownDepthUsd: 1_000, feedInterval: '0s' },
    gasless: {
      quoteLifetime: '20m',
      feeBps: 10,
      rateLimits: { quote: { limit: 50, window: '1h' }, tokens: '7/1h' },
      rateLimitReset: 'duration',
      wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
    },
    aggregator: {
      indexingDelay: '0s',
      rateLimit: '1000/1s',
      wire: { methodPrefix: 'relay_', signatureHeader: 'X-Service-Signature' },
    },
    faults: 'faults.yaml',
  }
  writeFileSync(join(dir, 'settings.yaml'), stringify(settings))
  writeFileSync(
    join(dir, 'faults.yaml'),
    'seed: 5\nrules: [{ kind: neverFill, probability: 0.5 }]\n',
  )
  writeStrategies(join(dir, 'strategies'), everySecond('buy-weth', { enabled: false }))
  const flags = [
    '--fee-bps',
    '20',
    '--rate-limit',
    'quote=60/1h',
    '--aggregator-port',
    `${aggregator}`,
  ]
  const outputFlags = [
    '--config-out',
    'c/live.yaml',
    '--strategies-dir',
    'strategies',
    '--state-dir',
    's',
  ]
  const { report } = await sandboxWith(
    ['--settings', 'settings.yaml', ...flags, ...outputFlags],
    dir,
  )
  const at = (port: number) => `http://127.0.0.1:${port}`
  expect(report).toMatchObject({
    rpcUrl: at(rpc),
    gaslessUrl: at(gasless),
    adminUrl: at(admin),
    sepoliaRpcUrl: at(aggregatorRpc),
    aggregatorUrl: at(aggregator),
    config: join(dir, 'c/live.yaml'),
  })

  const requestedAt = Date.now()
  const quoted = await quote(report, 25, { routingPreference: 'preferHouse' })
  expect(quoted.status).toBe(200)
  expectLifetime(quoted.body.expiration, requestedAt, 1_200)
  expect(quoted.body.quote.feeAmount).toBe('50000')
  expect(quoted.headers.get('x-ratelimit-limit')).toBe('60')
  const resetMs = Number(quoted.headers.get('x-ratelimit-reset'))
  expect(resetMs).toBeGreaterThan(3_500_000)
  expect(resetMs).toBeLessThanOrEqual(3_600_000)
  expect((await quote(report, 25, { routingPreference: 'preferOwn' })).status).toBe(400)
  // A quarter of the own pool's thousand dollars is its limit.
  expect((await quote(report, 200, { routingPreference: 'onlyHouse' })).status).toBe(200)
  expect((await quote(report, 300, { routingPreference: 'onlyHouse' })).status).toBe(400)
  const tokens = await reply(fetch(`${report.gaslessUrl}/api/v1/tokens?chainId=${report.chainId}`))
  expect(tokens.headers.get('x-ratelimit-limit')).toBe('7')
  expect(await rpcErrorOf(report, 'agg_accountInfo')).toBe(NO_SUCH_METHOD)
  expect(await rpcErrorOf(report, 'relay_accountInfo')).toBe(NOT_AUTHENTICATED)
  expect(await adminCall(report, 'GET', '/faults')).toMatchObject({
    seed: 5,
    rules: [{ kind: 'neverFill', probability: 0.5 }],
  })

  const config = parse(readFileSync(join(dir, 'c/live.yaml'), 'utf8'))
  expect(config.gasless).toMatchObject({
    baseUrl: at(gasless),
    maxQuoteLifetime: '1200s',
    wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
  })
  expect(config.aggregator.wire).toEqual(settings.aggregator.wire)
  // The service takes these requests only with the configured prefix and header.
  const tool = async (line: string): Promise<Ended> =>
    run([...line.split(' '), '--config', 'c/live.yaml'], { cwd: dir })
  const deposited = await tool('gastank deposit 0.05 --yes')
  expect([deposited.code, deposited.stdout]).toEqual([0, expect.stringMatching(/is indexed/)])
  expect(JSON.parse((await tool('gastank status --json')).stdout)).toMatchObject({ known: true })
})

/** Checks a lifetime in whole seconds, from a moment between the request and now. */
function expectLifetime(expiration: string, requestedAtMs: number, seconds: number): void {
  const bornAtMs = Date.parse(expiration) - seconds * 1_000
  expect(bornAtMs).toBeGreaterThan(requestedAtMs - 1_000)
  expect(bornAtMs).toBeLessThan(Date.now() + 1_000)
}

test('without settings, every value equals the default in the settings table', async () => {
  const { report } = await sandboxWith([])
  const requestedAt = Date.now()
  const { body, headers } = await quote(report, 25, { routingPreference: 'preferOwn' })
  expectLifetime(body.expiration, requestedAt, 60)
  expect(body.quote.feeAmount).toBe('12500')
  expect(headers.get('x-ratelimit-limit')).toBe('600')
  expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(requestedAt)
  expect(await rpcErrorOf(report, 'agg_accountInfo')).toBe(NOT_AUTHENTICATED)
  expect(report).toMatchObject({ chainId: 8453, aggregatorChainId: 11_155_111, config: null })
})

test('one seed repeats the same prices, and another seed gives others', async () => {
  const pricesOf = async (seed: string): Promise<unknown> => {
    const { running, report } = await sandboxWith(['--seed', seed, '--feed-interval', '0s'])
    await adminCall(report, 'POST', '/market/step', { steps: 20 })
    const { usdPrices } = await adminCall<{ usdPrices: object }>(report, 'GET', '/state')
    await running.stop()
    return usdPrices
  }
  const [first, second, other] = await Promise.all(['41', '41', '42'].map(pricesOf))
  expect(second).toEqual(first)
  expect(other).not.toEqual(first)
})

test('the commands printed at the start work as printed', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'strategies/sandbox'), { recursive: true })
  writeStrategies(join(dir, 'strategies/sandbox'), everySecond('buy-weth', { enabled: false }))
  const args = ['--config-out', 'config/sandbox-live.yaml', '--aggregator-indexing-delay', '0s']
  const running: Running = start(['sandbox', ...LEASH, '--http-port', '0', ...args], { cwd: dir })
  await running.sees(/tranched\.js run .*\n/)
  // The length of a line depends on where the project lies, except for the name of its program.
  const lines = running
    .output()
    .replaceAll(/node \S+\.js/g, 'tranched')
    .split('\n')
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  // A command too long for one line continues after a backslash: the shell gets both lines.
  const commands = running.output().match(/^ {2}node (?:.*\\\n)*.*$/gm) ?? []
  expect(commands.map((line) => /\.js (\w+)/.exec(line)?.[1])).toEqual([
    'gastank',
    'delegation',
    'run',
  ])
  for (const command of commands) {
    const leash = command.includes('.js run ') ? ' --for 1s' : ''
    // Rejects with the output where a command fails.
    await promisify(exec)(`${command}${leash}`, { cwd: dir, timeout: 120_000 })
  }
  expect(running.output()).not.toContain('Before anything else')

  const elsewhere = ['--strategies-dir', 'none', ...args, '--force']
  const again = start(['sandbox', ...LEASH, ...elsewhere], { cwd: dir })
  await again.sees(/^ {2}data\/sandbox-live holds the state of another chain: .*--state-dir$/m)
  await again.sees(/^ {2}none does not exist: .*--strategies-dir$/m)
})
