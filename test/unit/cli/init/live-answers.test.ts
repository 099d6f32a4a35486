import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withAnswers } from '../../../../src/cli/commands/author/init/contents.ts'
import {
  gatherLive,
  type LiveAnswers,
} from '../../../../src/cli/commands/author/init/live-answers.ts'
import type { Probes } from '../../../../src/cli/compose/checkup.ts'
import type { Address } from '../../../../src/domain/money/units.ts'
import { NOON_SECONDS } from '../../../support/builders.ts'
import { ROOT } from '../../../support/process/cli.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { settingsOf } from '../../config/config-fixture.ts'
import { initFor } from './init-fixture.ts'

const EXAMPLE = readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8')
const SPENDER = '0x00000000000000000000000000000000000000aa'
const ENV_SET = {
  ...{ GASLESS_URL: 'https://swap.example', GASLESS_SPENDER: SPENDER },
  BASE_RPC_URL: 'https://rpc.example',
}

/** A chain where only `code` addresses have code, and a service that answers unless its URL has `gone`. */
function probesOf({ chainId = 8453, code = (_: Address): boolean => true } = {}) {
  const requests: string[] = []
  const open = ((input: { settings: { gasless: { baseUrl: string } } }) => ({
    now: () => NOON_SECONDS * 1_000,
    async nodes() {
      requests.push('nodes')
      const met = { chainId, genesisHash: undefined, headNumber: 9n, headSeconds: NOON_SECONDS }
      return [
        {
          ...{ label: 'node 1 of 1', history: undefined, common: undefined },
          met: { ok: true, value: { ...met, latencyMs: 1 } },
          limits: { batch: undefined, logBlocks: undefined },
        },
      ]
    },
    fees: async () => ({
      ok: true,
      value: { baseFeePerGas: 1_000_000n, maxPriorityFeePerGas: 1_000_000n },
    }),
    async code(_: unknown, addresses: readonly Address[]) {
      requests.push('code')
      return { ok: true, value: new Map(addresses.map((a) => [a, code(a) ? '0x60' : '0x'])) }
    },
    tokens: async () => ({ ok: true, value: new Map() }),
    view: async () => ({
      ok: true,
      value: { readings: new Map(), blockTimeSeconds: NOON_SECONDS },
    }),
    async service() {
      requests.push('service')
      const fault = { tag: 'unavailable', message: 'gone' }
      const reply = input.settings.gasless.baseUrl.includes('gone')
        ? { ok: false, fault }
        : { ok: true, value: [] }
      return { reply, durationMs: 1, clockOffsetMs: 0, remaining: undefined }
    },
    close: async () => undefined,
  })) as unknown as (input: unknown) => Probes
  return { open, requests }
}

async function gathered(
  flags: LiveAnswers,
  answers: readonly string[] | undefined,
  probes = probesOf(),
) {
  const left = answers?.slice()
  const said: string[] = []
  const questions: string[] = []
  const found = await gatherLive(flags, {
    env: {},
    say: (line) => void said.push(line),
    config: (given) => withAnswers(EXAMPLE, given),
    open: probes.open,
    async ask(question) {
      questions.push(question)
      return left === undefined ? undefined : (left.shift() ?? '')
    },
  })
  return { found, said, questions, requests: probes.requests }
}

test('each answer is checked at once, and the config holds it', async () => {
  const typed = [
    'https://rpc.example/key',
    'https://swap.example',
    SPENDER,
    'cbBTC',
    '5',
    '10',
    '2',
  ]
  const { found, said } = await gathered({}, typed)
  if (!found.ok) throw new Error(found.text)
  expect(said).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^ {2}fine: base, node 1 of 1: chain 8453/),
      expect.stringMatching(/^ {2}fine: the gasless service answers/),
      expect.stringMatching(/^ {2}fine: base: the address of the config has code/),
      expect.stringMatching(/^ {2}fine: cbBTC: the known address on Base/),
      expect.stringMatching(/^ {2}warning: cbBTC\/USDC: its feed has no description/),
    ]),
  )
  const text = withAnswers(EXAMPLE, found.value)
  const settings = settingsOf(text.ok ? text.value : text.text)
  expect(settings.chains.get('base')?.rpcUrls).toEqual(['https://rpc.example/key'])
  expect(settings.gasless).toMatchObject({ spenders: [SPENDER] })
  expect(settings.tokens.get('cbBTC')).toMatchObject({ decimals: 8 })
  expect(settings.prices.get('cbBTC/USDC')).toMatchObject({ maxAgeSeconds: 3_600 })
  const usdc = settings.tokens.get('USDC')?.address ?? SPENDER
  expect(settings.limits.perOrder.get(usdc)).toBe(5_000_000n)
  expect(settings.limits.perDay.get(usdc)).toBe(10_000_000n)
})

test('skipped answers leave variables and defaults, and nothing is requested', async () => {
  const { found, requests, questions } = await gathered({}, ['skip', '', 'skip', '', '', '', ''])
  expect(found).toEqual({ ok: true, value: {} })
  expect([requests, questions.length]).toEqual([[], 7])
  expect(withAnswers(EXAMPLE, {})).toEqual({ ok: true, value: EXAMPLE })
  const skipped = questions.map((question) => /\[skip: (.*)\]: $/.exec(question)?.[1])
  const weekly = readFileSync(join(ROOT, 'strategies/weekly-eth.yaml'), 'utf8')
  for (const variable of skipped.slice(0, 3)) expect(EXAMPLE).toContain(`\${${variable}}`)
  expect(EXAMPLE).toContain(`perOrder: { USDC: "${skipped[4]}" }`)
  expect(EXAMPLE).toContain(`perDay: { USDC: "${skipped[5]}" }`)
  expect(weekly).toContain(`amount: "${skipped[6]}"`)
})

test('a fault is asked again, and the same answer again keeps it', async () => {
  const gone = 'https://gone.example'
  const kept = await gathered({}, ['', gone, gone])
  expect(kept.found).toEqual({ ok: true, value: { service: gone } })
  expect(kept.said[0]).toMatch(
    /^ {2}fault: the gasless service did not return its token list: gone/,
  )
  const mended = await gathered({}, ['', gone, 'https://swap.example'])
  expect(mended.found).toEqual({ ok: true, value: { service: 'https://swap.example' } })
})

test('a node of another chain and a spender without code are faults', async () => {
  const other = await gathered({ rpc: 'https://rpc.example' }, undefined, probesOf({ chainId: 1 }))
  expect(other.said[0]).toContain('serves chain 1, but the config says 8453')
  const bare = probesOf({ code: (address) => address !== SPENDER })
  const { said } = await gathered({ rpc: 'https://r.example', spender: SPENDER }, undefined, bare)
  expect(said).toContainEqual(
    expect.stringMatching(/^ {2}fault: gasless\.spenders: there is no contract at 0x0+aa/),
  )
  // WETH, USDC and their feed are checked without a further token, too.
  expect(said).toContainEqual(expect.stringMatching(/^ {2}fine: WETH: the known address on Base/))
})

test.each([
  ['service', 'swap', /^flag --service: gasless\.baseUrl: /],
  ['service', 'http://swap.example', /^flag --service: .* plain http to another machine/],
  ['spender', '0x12', /^flag --spender: gasless\.spenders/],
  ['tokens', 'PEPE', /^flag --tokens: no address of PEPE is known here; expected some of: WETH/],
  ['perOrder', '-1', /^flag --per-order: limits\.perOrder/],
  ['amount', '251', /^flag --amount: the amount must be positive, and at most/],
])('the flag %s refuses %s', async (name, value, text) => {
  const { found, requests } = await gathered({ [name]: value }, undefined)
  expect(found).toEqual({ ok: false, text: expect.stringMatching(text) })
  expect(requests).toEqual([])
})

test('a day that allows less than one order is refused', async () => {
  const { found } = await gathered({ perOrder: '5', perDay: '3' }, undefined)
  const text = 'flag --per-day: a day must allow at least what one order may sell'
  expect(found).toEqual({ ok: false, text })
})

test('without a terminal and flags, init writes the example and lists what is missing', async () => {
  const dir = temporaryDirectory()
  const { stdout, stderr } = await initFor({ dir, mode: 'live', json: true })
  expect(stderr).toBe('')
  const { missing } = JSON.parse(stdout) as { missing: { what: string; check: string }[] }
  expect(missing.map(({ what }) => what.split(',')[0])).toEqual([
    ...['BASE_RPC_URL', 'GASLESS_URL', 'GASLESS_SPENDER', 'keys/trader.json'],
    ...['ether for gas and tokens to sell', '`enabled: true` in a strategy'],
  ])
  expect(missing[0]?.check).toBe('tranched doctor --config config/live.yaml')
})

test('the amount of the first strategy is written into its file', async () => {
  const dir = temporaryDirectory()
  await initFor({ dir, mode: 'live', kinds: 'dca', amount: '2', yes: true })
  expect(readFileSync(join(dir, 'strategies/weekly-eth.yaml'), 'utf8')).toMatch(/^amount: "2" #/m)
  expect(
    settingsOf(readFileSync(join(dir, 'config/live.yaml'), 'utf8'), { env: ENV_SET }),
  ).toBeDefined()
})
