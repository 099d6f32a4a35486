import { describe, expect, test } from 'vitest'
import { type ReportOptions, report } from '../../../../src/cli/commands/money/report.ts'
import type { ReportData } from '../../../../src/cli/json/money-outputs.ts'
import type { AmountData } from '../../../../src/cli/json/shapes.ts'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { PermitRecord } from '../../../../src/domain/order/permit.ts'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import { outputOf } from '../../../support/output-of.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  filledSlot,
  intentOf,
  opened,
  permitFor,
  scheduled,
} from '../../../support/state/journal-events.ts'
import { settingsOf } from '../../config/config-fixture.ts'
import { aProject, printed } from '../reading-fixture.ts'

const NOW_MS = Date.UTC(2027, 0, 15, 9)
const [first, second] = [1_799_990_000, 1_799_999_000]
const call = callIntentOf(second, 'poke')
const CALLED: readonly JournalEvent[] = [
  scheduled('poke'),
  opened(call),
  { type: 'call-recorded', intentId: call.id, call: callFor(call, { attempt: 1, nonce: 0n }) },
  { type: 'call-proven', intentId: call.id, attempt: 1, execution: executionOf(call) },
]
const EVENTS = [BOUND, scheduled(), ...filledSlot(first), ...filledSlot(second), ...CALLED]

async function printedReport(
  events: readonly JournalEvent[],
  options: Partial<ReportOptions> = {},
  columns?: number,
) {
  const { config } = await aProject(events)
  const all = { config, timezone: 'UTC', ...options }
  return printed((io) => report(all, io, NOW_MS), { columns, json: all.json === true })
}

async function data(events: readonly JournalEvent[], options: Partial<ReportOptions> = {}) {
  const { stdout } = await printedReport(events, { ...options, json: true })
  return outputOf<ReportData>('report', stdout)
}

const usdc = (amount: string) => ({ amount, token: 'USDC' })
const weth = (amount: string) => ({ amount, token: 'WETH' })
const eth = (amount: string) => ({ amount, token: 'ETH' })

test('JSON output has every amount as decimal text with its token, and times as ISO', async () => {
  const output = await data(EVENTS)
  expect(output).toMatchObject({
    ...{ paper: false, sinceAt: null, untilAt: '2027-01-15T09:00:00.000Z', valueToken: 'USDC' },
    total: {
      ...{ fills: 2, calls: 1, callsWithoutCharge: 0 },
      trades: [
        {
          ...{ fills: 2, sold: usdc('49.8'), bought: weth('0.0122'), fee: usdc('0') },
          averagePrice: '4081.96721311475409836',
          vsFeedBps: null,
        },
      ],
      charged: eth('0.000000000000000007'),
      carried: eth('0.000000000000000003'),
      gas: eth('0'),
      realised: { fifo: usdc('0'), average: usdc('0') },
      unproven: { orders: 0, amounts: [] },
    },
    groups: [],
    profit: {
      cost: { fifo: usdc('49.8'), average: usdc('49.8') },
      unrealised: null,
      proceedsOfUnknownCost: usdc('0'),
      held: [{ amount: weth('0.0122'), value: null }],
    },
  })
  const day = output.caps.find(({ strategy, window }) => strategy === null && window === 'day')
  expect(day).toEqual({ strategy: null, window: 'day', used: usdc('49.8'), cap: usdc('1000') })
  // Amounts in base units have no token, so the document has none.
  expect(JSON.stringify(output)).not.toMatch(/49800000|12200000000000000/)
})

test('a report without a node shows the known figures and why the rest is unknown', async () => {
  const { portfolio, profit } = await data(EVENTS)
  expect(portfolio).toMatchObject({ total: null, holdings: [] })
  expect(portfolio.unknown).toMatch(/./)
  expect(profit?.unrealised).toBeNull()
  const { stdout, code } = await printedReport(EVENTS)
  expect(stdout).toMatch(/^portfolio now unknown: ./m)
  expect(stdout).toMatch(/unrealised profit +no price +no price/)
  expect(code).toBe(0)
})

test('figures start at --since; costs include earlier fills', async () => {
  const output = await data(EVENTS, { since: Date.UTC(2027, 0, 15, 8, 0, 8) })
  expect(output.sinceAt).toBe('2027-01-15T08:00:08.000Z')
  expect(output.total.fills).toBe(1)
  expect(output.profit?.cost.fifo).toEqual(usdc('49.8'))
})

describe('groups', () => {
  test.each([
    ['strategy', ['poke', 'weekly-eth']],
    ['day', ['2027-01-15']],
    ['week', ['2027-W02']],
    ['month', ['2027-01']],
    ['token', []],
  ] as const)('--by %s gives one group per key', async (by, keys) => {
    const { groups } = await data(EVENTS, { by })
    expect(groups.map(({ key }) => key)).toEqual(keys)
  })

  test('days follow the time zone, and an unknown zone is an error', async () => {
    const { groups } = await data(EVENTS, { by: 'day', timezone: 'Pacific/Kiritimati' })
    expect(groups.map(({ key }) => key)).toEqual(['2027-01-15'])
    const west = await data(EVENTS, { by: 'day', timezone: 'Pacific/Pago_Pago' })
    expect(west.groups.map(({ key }) => key)).toEqual(['2027-01-14'])
    const { code, stderr } = await printedReport(EVENTS, { timezone: 'Mars/Olympus' })
    expect(stderr).toMatch(/^report: --timezone expects an IANA name/)
    expect(code).toBe(2)
  })

  test('the spreadsheet has a row per pair, then a row per group', async () => {
    const { stdout } = await printedReport(EVENTS, { by: 'strategy', csv: true })
    const [, ...rows] = stdout.trimEnd().split('\n')
    expect(rows).toEqual([
      'poke,,,,,,,,,,1,0.000000000000000007,0.000000000000000003,0,0,0,USDC',
      'weekly-eth,2,49.8,USDC,0.0122,WETH,4081.96721311475409836,,0,USDC,,,,,,,',
      'weekly-eth,,,,,,,,,,0,0,0,0,0,0,USDC',
    ])
  })
})

test('no line exceeds a terminal of 60 columns, even with huge amounts', async () => {
  const huge = intentOf(second, 'weekly-eth')
  const [, exposed, , proven] = filledSlot(second)
  if (exposed?.type !== 'permit-recorded' || proven?.type !== 'fill-proven') throw new Error()
  const amount = baseUnits(123_456_789_012_345_678_901_234n)
  const size = { side: 'sell', amount } as const
  const { stdout } = await printedReport(
    [
      ...[BOUND, scheduled(), ...filledSlot(first)],
      opened({ ...huge, size, maxSell: amount }),
      { ...exposed, permit: { ...exposed.permit, amount } },
      { ...proven, fill: { ...proven.fill, paid: amount, received: baseUnits(10n ** 36n) } },
    ],
    { by: 'strategy' },
    60,
  )
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(60)
  expect(stdout).toContain('123,456,789,012,345,703.8 USDC')
  expect(stdout).not.toMatch(/123,?456,?789,?012,?345,?678,?901|…/)
})

test('the heading of a dry-run report names its fills as on paper', async () => {
  const intent = intentOf(first)
  const amounts = { paid: baseUnits(25_000_000n), received: baseUnits(10n ** 16n) }
  const { stdout } = await printedReport([
    { ...BOUND, mode: 'dry-run' },
    scheduled(),
    opened(intent),
    { type: 'paper-filled', intentId: intent.id, attempt: 1, ...amounts },
  ])
  expect(stdout).toMatch(
    /^ON PAPER \(dry-run: nothing was signed\), from the start to 2027-01-15\n/,
  )
})

test('a state without trades gives an empty report that says so', async () => {
  const { stdout, code } = await printedReport([BOUND, scheduled()])
  expect(stdout).toContain('nothing was traded')
  expect(code).toBe(0)
})

describe('a purchase with DAI that the wallet held before', () => {
  const strategy = 'ladder'
  /** DAI of the config; recorded with or without what a DAI was worth. */
  function bought(worth?: PermitRecord['worth']): readonly JournalEvent[] {
    const DAI = settingsOf().tokens.get('DAI')
    if (DAI === undefined) throw new Error('the fixture has no DAI')
    const intent = { ...intentOf(first, strategy), sell: { token: DAI, native: false } }
    const permit = { ...permitFor(intent), token: DAI.address, worth }
    const [, , ...rest] = filledSlot(first, strategy)
    return [opened(intent), { type: 'permit-recorded', intentId: intent.id, permit }, ...rest]
  }
  const events = (worth?: PermitRecord['worth']) => {
    return [BOUND, scheduled(), scheduled(strategy), ...bought(worth), ...filledSlot(second)]
  }
  const both = (fifo: AmountData, average = fifo) => ({ fifo, average })

  test('is held at unknown cost if no price was recorded, as in older journals', async () => {
    const { profit, total } = await data(events())
    expect(total.fills).toBe(2)
    expect(profit?.held).toEqual([
      {
        ...{ amount: weth('0.0122'), cost: both(usdc('24.9')), value: null },
        ...{ ofUnknownCost: both(weth('0.0061')), paidWith: ['DAI'] },
      },
    ])
    expect(profit?.proceedsOfUnknownCost).toEqual(usdc('0'))
    const { stdout } = await printedReport(events())
    expect(stdout).toContain(
      '\n0.0061 WETH bought at unknown cost: paid with DAI that was not bought here\n',
    )
  })

  test('costs the recorded value of the DAI, which counts as proceeds of unknown cost', async () => {
    const { address } = intentOf(second).sell.token
    const worth = { token: address, price: { num: 2n, den: 1n } }
    const { profit } = await data(events(worth))
    expect(profit?.held).toMatchObject([
      { amount: weth('0.0122'), cost: both(usdc('74.7')), ofUnknownCost: both(weth('0')) },
    ])
    expect(profit?.proceedsOfUnknownCost).toEqual(usdc('49.8'))
    expect((await printedReport(events(worth))).stdout).not.toContain('unknown cost:')
  })
})
