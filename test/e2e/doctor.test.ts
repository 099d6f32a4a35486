import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Check } from '../../src/cli/commands/doctor/check.ts'
import { startRefusingNode } from '../support/chain/refusing-node.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { startHidingNode } from '../support/process/hiding-node.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { mentionsKey } from './audit.ts'
import { setUpAccount } from './operator.ts'
import { adminCall, everySecond, nodeCall, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

const CALLS = {
  'call-demo': {
    ...{ name: 'call-demo', kind: 'call', to: 'demo', function: 'poke()', gasLimit: '150000' },
    schedule: { cron: '0 0 1 1 *' },
  },
}
const SWAPS = everySecond('buy-weth')

type Report = { readonly ok: boolean; readonly checks: readonly Check[] }
type Config = {
  wallets: { trader: object; operator: { privateKeyFile: string } }
  chains: Record<'base' | 'sepolia', { chainId: number; rpcUrls: string[] }>
  gasless: { baseUrl: string; spenders: string[] }
  aggregator: { rpcUrl: string; gasTank: object }
  tokens: Record<string, { decimals: number }>
  prices: Record<string, { feed: string }>
  http: { port: number }
}

async function examine({ config }: Rehearsal) {
  const ended = await run(['doctor', '--json', '--config', config])
  return { ...ended, report: outputOf<Report>('doctor', ended.stdout) }
}

function edit({ config }: Rehearsal, change: (config: Config) => void): void {
  const settings = parse(readFileSync(config, 'utf8')) as Config
  change(settings)
  writeFileSync(config, stringify(settings))
}

function faultsOf({ checks }: Report): readonly Check[] {
  return checks.filter(({ verdict }) => verdict === 'fault')
}

test('a healthy wallet, account and services pass every check, without a daemon and beside one', async () => {
  const rehearsal = await rehearse({ ...SWAPS, ...CALLS })
  const before = readdirSync(rehearsal.dir, { recursive: true })
  const early = await examine(rehearsal)
  expect(early.code).toBe(1)
  expect(faultsOf(early.report).map(({ id }) => id)).toEqual([
    'operator-delegation',
    'gastank-account',
  ])
  expect(readdirSync(rehearsal.dir, { recursive: true })).toEqual(before)

  await setUpAccount(rehearsal)
  const well = await examine(rehearsal)
  expect([faultsOf(well.report), well.code, well.report.ok]).toEqual([[], 0, true])
  // The machine's current speed is not under test.
  const unwell = well.report.checks.filter(
    ({ id, verdict }) => verdict !== 'fine' && !id.endsWith('-latency'),
  )
  expect(unwell.map(({ id }) => id).sort()).toEqual(['receivers', 'supervisor'])
  const gas = well.report.checks.filter(({ id }) => id === 'gas-limits')
  expect(gas.map(({ says }) => says)).toEqual([
    expect.stringMatching(/^base: gas costs [\d.]+ gwei/),
    expect.stringMatching(/^sepolia: gas costs [\d.]+ gwei/),
  ])

  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const beside = await examine(rehearsal)
  expect([faultsOf(beside.report), beside.code]).toEqual([[], 0])
  const says = new Map(beside.report.checks.map((check) => [check.id, check.says]))
  expect(says.get('daemon')).toBe(`process ${daemon.pid} runs (tranched run)`)
  expect(says.get('anchor')).toBe('the anchor matches the state')
  expect(says.get('state-proof')).toMatch(
    /^\d+ records are intact, written by this wallet's daemon$/,
  )
  expect(says.get('quote')).toMatch(/^buy-weth: 25 USDC for 0\.\d+ WETH; it would be signed$/)
  expect(says.get('disk-latency')).toMatch(/a small durable write takes/)
  expect((await daemon.stop()).code).toBe(0)
  expect(mentionsKey(beside.stdout, rehearsal.key)).toBe(false)

  const text = await run(['doctor', '--config', rehearsal.config])
  expect([text.code, text.stderr]).toEqual([0, ''])
  expect(text.stdout).toMatch(/^wallets\n {2}ok {4}the trading wallet has no code$/m)
  expect(text.stdout).toMatch(/^\d+ checks: \d+ fine, \d+ warnings?, 0 faults, 1 unknown$/m)
  expect(text.stdout).not.toContain('\u001b')
  expect(text.stdout).not.toContain('127.0.0.1')

  edit(rehearsal, ({ aggregator }) => {
    aggregator.gasTank = { alertBelow: '1' }
  })
  const low = await examine(rehearsal)
  expect([low.code, faultsOf(low.report)]).toEqual([
    1,
    [expect.objectContaining({ id: 'gastank-funds', remedy: expect.stringMatching(/deposit/) })],
  ])

  rmSync(join(rehearsal.stateDir, 'journal'), { recursive: true })
  rmSync(join(rehearsal.stateDir, 'state.json'))
  const lost = await examine(rehearsal)
  const anchor = faultsOf(lost.report).find(({ id }) => id === 'anchor')
  expect(anchor?.says).toMatch(/there is no state here, and .* says that wallet trader/)
  expect(anchor?.remedy).toMatch(/bring the whole state directory back/)
})

/** A fault, and the id, text and remedy that doctor must print for it. */
type Injected = {
  readonly inject: (rehearsal: Rehearsal) => Promise<void> | void
  readonly faults: Readonly<Record<string, readonly [says: RegExp, remedy: RegExp]>>
}

const SECRET = 'an-access-key-that-must-stay-secret'

const INJECTED: Readonly<Record<string, Injected>> = {
  'wrong decimals in the config': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ tokens: { AERO } }) => {
        if (AERO !== undefined) AERO.decimals = 8
      }),
    faults: {
      'token-decimals': [/AERO: the config has 8 decimals, its contract says 18/, /tokens\.AERO/],
      'service-tokens': [/AERO: the config has 8 decimals, the service says 18/, /tokens\.AERO/],
    },
  },
  'a chain id that the node does not serve': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ chains }) => {
        chains.sepolia.chainId = 1
      }),
    faults: { 'node-chain': [/sepolia, node 1 of 1 serves chain 11155111/, /chains\.sepolia/] },
  },
  'an address without code': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ gasless }) => {
        gasless.spenders.push(`0x${'0e'.repeat(20)}`)
      }),
    faults: { code: [/gasless\.spenders\[1\]: there is no contract at 0x0e0e/, /compare the add/] },
  },
  'a lagging node': {
    async inject(rehearsal) {
      const node = await startHidingNode(rehearsal.report.rpcUrl)
      node.aheadSeconds = -400
      edit(rehearsal, ({ chains }) => {
        chains.base.rpcUrls.push(node.url)
      })
    },
    faults: {
      'node-clock': [/base, node 2 of 2: the newest block is 4\d\d s old/, /the node is behind/],
    },
  },
  'a node without eth_getLogs': {
    async inject(rehearsal) {
      const node = await startRefusingNode(rehearsal.report.rpcUrl, { logBlocksMax: 0 })
      onTestFinished(() => node.close())
      edit(rehearsal, ({ chains }) => {
        chains.base.rpcUrls = [node.url]
      })
    },
    faults: {
      'node-logs': [
        /base, node 1 of 1 does not answer eth_getLogs: error -32601: the method eth_getLogs/,
        /name a node or plan in `chains\.base\.rpcUrls` that does/,
      ],
    },
  },
  'a key file that others may read': {
    inject: ({ dir }) => chmodSync(join(dir, 'config/trader.key'), 0o644),
    faults: {
      key: [/trader: .*trader\.key can be read or written by others/, /^`chmod 600 /],
      'loose-files': [/trader\.key group or others have rights to it/, /^`chmod go-rwx /],
    },
  },
  'a missing keystore': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ wallets }) => {
        wallets.trader = { keystore: './none.json', passwordFile: './none.pass' }
      }),
    faults: { key: [/there is no .*none\.json/, /tranched wallet new --out/] },
  },
  'unreachable services': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ gasless, aggregator }) => {
        gasless.baseUrl = `http://127.0.0.1:1/${SECRET}`
        aggregator.rpcUrl = `http://127.0.0.1:1/${SECRET}`
      }),
    faults: {
      gasless: [/did not return its token list: connection failed/, /gasless\.baseUrl/],
      quote: [/buy-weth: the service returned no quote/, /`tranched quote buy-weth`/],
      aggregator: [/the aggregation service .*could not be reached/, /aggregator\.rpcUrl/],
    },
  },
  'a chain without a node': {
    inject: (rehearsal) =>
      edit(rehearsal, ({ chains }) => {
        chains.base.rpcUrls = [`http://127.0.0.1:1/${SECRET}`]
      }),
    faults: { node: [/base, node 1 of 1: could not be reached/, /chains\.base\.rpcUrls/] },
  },
}

test.each(Object.entries(INJECTED))('doctor reports %s with its remedy', async (_, injected) => {
  const rehearsal = await rehearse(SWAPS)
  await injected.inject(rehearsal)
  const { code, stdout, stderr, report } = await examine(rehearsal)
  expect([code, report.ok]).toEqual([1, false])
  const found = faultsOf(report)
  expect(found.map(({ id }) => id).sort()).toEqual(Object.keys(injected.faults).sort())
  for (const { id, says, remedy } of found) {
    const [text, way] = injected.faults[id] ?? []
    expect(says).toMatch(text ?? /never/)
    expect(remedy).toMatch(way ?? /never/)
  }
  expect(stdout + stderr).not.toContain(SECRET)
})

test('a node that refuses batches and long log ranges causes a warning with its own error text, not a fault', async () => {
  const rehearsal = await rehearse(SWAPS)
  const refusals = { batchMax: 3, batchStatus: 500, logBlocksMax: 10, logStatus: 400 }
  const node = await startRefusingNode(rehearsal.report.rpcUrl, refusals)
  onTestFinished(() => node.close())
  edit(rehearsal, ({ chains }) => {
    chains.base.rpcUrls = [node.url]
  })
  const { code, report } = await examine(rehearsal)
  expect([code, faultsOf(report)]).toEqual([0, []])
  const says = new Map(report.checks.map((check) => [check.id, check.says]))
  expect(says.get('node-batch')).toBe(
    'base, node 1 of 1 refuses a batch of 6 requests and accepts 3: answered HTTP 500: Batch of more than 3 requests are not allowed',
  )
  expect(says.get('node-history')).toMatch(/logs from block 0$/)
})

test('a stale feed names the strategies that wait for it', async () => {
  const rehearsal = await rehearse(SWAPS)
  const { report: sandbox } = rehearsal
  await adminCall(sandbox, 'PUT', '/market/paused', { paused: true })
  onTestFinished(() => adminCall(sandbox, 'PUT', '/market/paused', { paused: false }))
  const { prices } = parse(readFileSync(rehearsal.config, 'utf8')) as Config
  const hoursAgo = Math.floor(Date.now() / 1_000) - 7_300
  const round = { answer: '250000000000', startedAt: hoursAgo, updatedAt: hoursAgo }
  const { feed } = prices['WETH/USDC'] ?? {}
  onTestFinished(async () => {
    const now = Math.floor(Date.now() / 1_000)
    await adminCall(sandbox, 'PUT', '/feed', { feed, ...round, startedAt: now, updatedAt: now })
  })
  await adminCall(sandbox, 'PUT', '/feed', { feed, ...round })
  const { code, report } = await examine(rehearsal)
  expect(code).toBe(1)
  expect(faultsOf(report).map(({ id }) => id)).toEqual(['feed', 'quote'])
  const [stale] = faultsOf(report)
  expect(stale?.says).toMatch(/^WETH\/USDC: 2h 1m old, the limit is 1h; buy-weth cannot trade/)
  expect(stale?.remedy).toContain('prices.WETH/USDC.maxAge')
})

test('code at the trading wallet is a fault', async () => {
  const rehearsal = await rehearse(SWAPS)
  const { report: sandbox } = rehearsal
  const setCode = (code: string) => nodeCall(sandbox, 'anvil_setCode', [sandbox.trader, code])
  await setCode(`0xef0100${'0e'.repeat(20)}`).catch(() => undefined)
  onTestFinished(async () => void (await setCode('0x').catch(() => undefined)))
  const { code, report } = await examine(rehearsal)
  expect(code).toBe(1)
  expect(faultsOf(report).map(({ id }) => id)).toEqual(['trader-code', 'quote'])
  expect(faultsOf(report)[0]?.remedy).toMatch(/remove the delegation/)
})

test('hanging services and nodes time out within seconds, and every other check still runs', async () => {
  const rehearsal = await rehearse(SWAPS)
  const hanging = createServer(() => undefined)
  hanging.listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  onTestFinished(async () => {
    hanging.closeAllConnections()
    hanging.close()
  })
  const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
  edit(rehearsal, ({ chains, gasless, aggregator }) => {
    chains.base.rpcUrls = [url]
    gasless.baseUrl = url
    aggregator.rpcUrl = url
  })
  const { code, report } = await examine(rehearsal)
  expect(code).toBe(1)
  const ids = faultsOf(report).map(({ id }) => id)
  expect(ids.sort()).toEqual(['aggregator', 'gasless', 'node'])
  const fine = report.checks.filter(({ verdict }) => verdict === 'fine').map(({ id }) => id)
  expect(fine).toEqual(expect.arrayContaining(['key', 'node', 'code', 'state-proof', 'disk-room']))
})

test('doctor says in one line that no sandbox runs, and exits with 78 without a config', async () => {
  const dir = temporaryDirectory()
  expect((await run(['init'], { cwd: dir })).code).toBe(0)
  const { code, stdout } = await run(['doctor', '--json'], { cwd: dir })
  const { checks } = JSON.parse(stdout) as Report
  expect([code, faultsOf({ ok: true, checks })]).toEqual([0, []])
  const chains = checks.filter(({ section }) => section === 'chains')
  expect(chains.map(({ id, verdict }) => [id, verdict])).toEqual([['sandbox', 'unknown']])
  expect(existsSync(join(dir, 'data'))).toBe(false)

  writeFileSync(join(dir, 'config/sandbox.yaml'), 'mode: sandbox\nlimitz: {}\n')
  const unread = await run(['doctor', '--json'], { cwd: dir })
  const report = JSON.parse(unread.stdout) as Report
  expect([unread.code, report.ok]).toEqual([78, false])
  expect(report.checks).toEqual([
    expect.objectContaining({
      ...{ id: 'config', section: 'config', verdict: 'fault' },
      says: expect.stringMatching(/sandbox\.yaml:2:1 limitz: unknown key/),
    }),
  ])
})
