import { describe, expect, test } from 'vitest'
import {
  type ExportOptions,
  entryRows,
  exportEntries,
  koinlyRows,
  trackingRows,
} from '../../../../src/cli/commands/money/export.ts'
import { csvText } from '../../../../src/cli/commands/money/report-text.ts'
import type { EntryData } from '../../../../src/cli/json/money-outputs.ts'
import { ETHER } from '../../../../src/domain/money/token.ts'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import type { Entry } from '../../../../src/journal/ledger/entry.ts'
import { outputOf } from '../../../support/output-of.ts'
import {
  BOUND,
  bytes32,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  scheduled,
} from '../../../support/state/journal-events.ts'
import { aCall, aTrade, someGas, unproven } from '../../journal/ledger/entries.ts'
import { aProject, printed } from '../reading-fixture.ts'

const AT_MS = Date.UTC(2027, 2, 9, 7, 5, 3, 250)
const ENTRIES: readonly Entry[] = [
  aTrade({ atMs: AT_MS, fee: 12_500n, vsFeedBps: -1.5 }),
  aCall({ atMs: AT_MS, value: 10n ** 15n, charged: 2n * 10n ** 15n }),
  someGas({ atMs: AT_MS, fee: 21_000n * 10n ** 9n }),
  unproven({ atMs: AT_MS }),
]
const [trade, call, gas] = [bytes32(1), bytes32(2), bytes32(3)]

/** Cells of a CSV text as a spreadsheet reads them (RFC 4180). */
function read(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]]
  const cell = /("(?:[^"]|"")*"|[^",\n]*)(,|\n)/y
  while (cell.lastIndex < text.length) {
    const [, field = '', end] = cell.exec(text) ?? []
    if (end === undefined) throw new Error(`no cell at ${cell.lastIndex} of ${text}`)
    rows.at(-1)?.push(field.replace(/^"|"$/g, '').replaceAll('""', '"'))
    if (end === '\n') rows.push([])
  }
  return rows.slice(0, -1)
}

test("Koinly's universal template has the sent, received and fee amounts, with times in UTC", () => {
  const text = csvText(koinlyRows(ENTRIES))
  expect(text.split('\n')[0]).toBe(
    'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash',
  )
  const id = 'weekly-eth:1:0'
  const date = '2027-03-09 07:05:03 UTC'
  expect(read(text).slice(1)).toEqual([
    [date, '25', 'USDC', '0.01', 'WETH', '', '', '', '', '', id, trade],
    [
      date,
      '0.001',
      'ETH',
      '',
      '',
      '0.002',
      'ETH',
      '',
      '',
      '',
      `claim(address) (aggregated) ${id}`,
      call,
    ],
    [date, '0.000021', 'ETH', '', '', '', '', '', '', 'cost', `wrap ${id}`, gas],
    [date, '25', 'USDC', '', '', '', '', '', '', '', `not proven ${id}`, ''],
  ])
})

test("CoinTracking's columns are all quoted, with dates in its format", () => {
  const text = csvText(trackingRows(ENTRIES), 'all')
  expect(text.split('\n')[0]).toBe(
    '"Type","Buy Amount","Buy Currency","Sell Amount","Sell Currency","Fee","Fee Currency","Exchange","Trade-Group","Comment","Date","Tx-ID"',
  )
  const id = 'weekly-eth:1:0'
  const from = ['tranched', 'weekly-eth'] as const
  const date = '09.03.2027 07:05:03'
  expect(read(text).slice(1)).toEqual([
    ['Trade', '0.01', 'WETH', '25', 'USDC', '', '', ...from, id, date, trade],
    [
      'Spend',
      '',
      '',
      '0.001',
      'ETH',
      '0.002',
      'ETH',
      ...from,
      `claim(address) (aggregated) ${id}`,
      date,
      call,
    ],
    ['Other Fee', '', '', '0.000021', 'ETH', '', '', ...from, `wrap ${id}`, date, gas],
    ['Spend', '', '', '25', 'USDC', '', '', ...from, `not proven ${id}`, date, ''],
  ])
})

test('a wrap is a trade of ether for an equal amount of its token, so both balances are correct', () => {
  const weth = { ...ETHER, symbol: 'WETH' }
  const amount = 2n * 10n ** 15n
  const wrap = someGas({ atMs: AT_MS, fee: 21_000n, exchanged: { sell: ETHER, buy: weth, amount } })
  const [, koinly = []] = read(csvText(koinlyRows([wrap])))
  expect(koinly.slice(1, 7)).toEqual(['0.002', 'ETH', '0.002', 'WETH', '0.000000000000021', 'ETH'])
  expect(koinly[9]).toBe('')
  const [, tracking = []] = read(csvText(trackingRows([wrap])))
  expect(tracking.slice(0, 7)).toEqual([
    ...['Trade', '0.002', 'WETH', '0.002', 'ETH', '0.000000000000021', 'ETH'],
  ])
})

test('a call without value and known cost is left out of exports that count balances', () => {
  const nothing = [aCall({ charged: undefined })]
  expect(koinlyRows(nothing)).toHaveLength(1)
  expect(trackingRows(nothing)).toHaveLength(1)
  expect(entryRows(nothing)).toHaveLength(2)
})

test('cells with commas, quotes and newlines are quoted, and no cell becomes a formula', () => {
  const cells = ['plain', 'a,b', 'say "so"', 'two\nlines', '=1+1', '@x', '+1', null, 1.5]
  const text = csvText([cells])
  expect(text).toBe(`plain,"a,b","say ""so""","two\nlines",'=1+1,'@x,'+1,,1.5\n`)
  const label = `swap(address,(uint256,string))`
  const [, row] = read(csvText(entryRows([aCall({ label })])))
  expect(row).toContain(`${label} (aggregated)`)
})

describe('the export command', () => {
  const [first, second] = [1_799_000_000, 1_799_100_000]
  const FILLED = [BOUND, scheduled(), ...filledSlot(first), ...filledSlot(second)]
  const exported = async (events: readonly JournalEvent[], options: Partial<ExportOptions>) => {
    const { config } = await aProject(events)
    return printed((io) => exportEntries({ config, format: 'csv', ...options }, io))
  }
  const amounts = { paid: baseUnits(24_900_000n), received: baseUnits(10n ** 16n) }
  const intent = intentOf(first)
  const PAPER: readonly JournalEvent[] = [
    { ...BOUND, mode: 'dry-run' },
    scheduled(),
    opened(intent),
    { type: 'paper-filled', intentId: intent.id, attempt: 1, ...amounts },
  ]

  test('writes one CSV line per entry, oldest first', async () => {
    const { stdout, code } = await exported(FILLED, {})
    const [heading = [], ...rows] = read(stdout)
    expect(heading.slice(0, 9)).toEqual([
      ...['at', 'type', 'paper', 'strategy', 'intent', 'sold', 'sold_token', 'bought'],
      'bought_token',
    ])
    expect(rows.map((row) => row[4])).toEqual([`weekly-eth:${first}:0`, `weekly-eth:${second}:0`])
    for (const row of rows) expect(row).toHaveLength(heading.length)
    expect(code).toBe(0)
  })

  test('writes JSON lines with amounts, tokens and ISO times', async () => {
    for (const options of [{ format: 'jsonl' }, { json: true }] as const) {
      const { stdout } = await exported(FILLED, options)
      const entries = stdout
        .trimEnd()
        .split('\n')
        .map((line) => outputOf<EntryData>('export', line))
      expect(entries).toHaveLength(2)
      expect(entries[0]).toEqual({
        at: '2027-01-15T08:00:05.000Z',
        ...{ type: 'trade', paper: false, strategy: 'weekly-eth', intentId: intent.id },
        ...{ sold: { amount: '24.9', token: 'USDC' }, bought: { amount: '0.0061', token: 'WETH' } },
        ...{ cost: null, fee: null, vsFeedBps: null, what: null },
        txHash: fillOf(intent).txHash,
      })
    }
  })

  test('starts at --since, and ends before --until', async () => {
    const ids = async (bounds: { since?: number; until?: number }) => {
      const { stdout } = await exported(FILLED, { ...bounds, json: true })
      const lines = stdout.split('\n').filter((line) => line !== '')
      return lines.map((line) => outputOf<EntryData>('export', line).intentId)
    }
    const moment = Date.UTC(2027, 0, 15, 8, 0, 6)
    const [earlier, later] = [await ids({ until: moment }), await ids({ since: moment })]
    expect(later).toEqual([`weekly-eth:${second}:0`])
    expect(earlier).not.toContain(`weekly-eth:${second}:0`)
    expect([...earlier, ...later]).toEqual(await ids({}))
  })

  test.each(['koinly', 'cointracking'] as const)(
    'leaves paper fills out for %s with a notice, and includes them with --paper',
    async (format) => {
      const without = await exported(PAPER, { format })
      expect(read(without.stdout)).toHaveLength(1)
      expect(without.stderr).toMatch(
        /^export: 1 fill is on paper \(dry-run\) and left out; --paper /,
      )
      const all = await exported(PAPER, { format, paper: true })
      const [, row] = read(all.stdout)
      expect(row).toContain(`on paper: ${intent.id}`)
      expect(all.stderr).toBe('')
    },
  )

  test.each(['csv', 'jsonl'] as const)('marks paper fills in %s', async (format) => {
    const { stdout, stderr } = await exported(PAPER, { format })
    if (format === 'csv') expect(read(stdout)[1]?.[2]).toBe('yes')
    else expect(outputOf('export', stdout)).toMatchObject({ paper: true, txHash: null })
    expect(stderr).toBe('')
  })
})
