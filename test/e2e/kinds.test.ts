import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SwapIntent } from '../../src/domain/order/intent.ts'
import type { Fill } from '../../src/journal/records.ts'
import { ROOT } from '../support/process/cli.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Audit, all, audit } from './audit.ts'
import { type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

type Traded = { readonly intent: SwapIntent; readonly fill: Fill }

/** A shipped sandbox example; a module gets an absolute path. */
function example(name: string, change: (text: string) => string = (text) => text) {
  const text = readFileSync(join(ROOT, `strategies/sandbox/${name}.yaml`), 'utf8')
  return { [name]: change(text.replace('../modules', join(ROOT, 'strategies/modules'))) }
}

/** The amounts of each proven fill of a run, with the intent that was decided for it. */
function tradesOf({ events }: Audit): readonly Traded[] {
  const intents = new Map(
    all(events, 'slot-opened').flatMap((event) => event.intents.map((each) => [each.id, each])),
  )
  return all(events, 'fill-proven').flatMap(({ intentId, fill }) => {
    const intent = intents.get(intentId)
    return intent?.venue === 'gasless' ? [{ intent, fill }] : []
  })
}

/** Runs the daemon until it prints a line, stops it, and compares journal, service and chain. */
async function untilSeen(rehearsal: Rehearsal, line: RegExp): Promise<readonly Traded[]> {
  const daemon = rehearsal.daemon()
  await daemon.sees(line)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  return tradesOf(audited)
}

/** Sum paid by the proven fills of a journal, in base units. Its daemon may be running. */
async function paidIn({ stateDir }: Rehearsal): Promise<bigint> {
  const fills = all(await eventsIn(stateDir), 'fill-proven')
  return fills.reduce((sum, { fill }) => sum + fill.paid, 0n)
}

test('a TWAP sells exactly its total, however many slices its first approval delayed', async () => {
  const odd = (text: string) => text.replaceAll('"100"', '"100.000003"').replace('4s', '2s')
  const rehearsal = await rehearse(example('twap', odd))
  const daemon = rehearsal.daemon()
  await waitFor(
    'the total',
    () => paidIn(rehearsal),
    (paid) => paid === 100_000_003n,
  )
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(await paidIn(rehearsal)).toBe(100_000_003n)
  expect(tradesOf(audited).length).toBeGreaterThan(1)
})

test('a rebalance trades by its definition and then stays inside its band', async () => {
  const rehearsal = await rehearse(
    example('rebalance', (text) => text.replace('*/10', '*/3').replace('band: 0.2%', 'band: 4%')),
  )
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled rebalance/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const [first] = tradesOf(audited)
  const [opened] = all(audited.events, 'slot-opened')
  // Ten million of each at 1.25 and 1: AERO is the surplus, and one order sells at most what the config allows of it.
  expect(opened?.intents.length).toBe(1)
  expect([first?.intent.sell.token.symbol, first?.intent.buy.token.symbol]).toEqual(['AERO', 'DAI'])
  expect(first?.fill.paid).toBe(25_000n * 10n ** 18n)
})

test('a threshold sells its amount once at its level, until the price has been back', async () => {
  const rehearsal = await rehearse(
    example('threshold', (text) => text.replace('"2999"', '"100"').replace('"3001"', '"101"')),
  )
  // The price is far above both levels: `above` fires once and never rearms.
  const trades = await untilSeen(rehearsal, /filled threshold[\s\S]*skipped threshold/)
  expect(trades.map(({ fill }) => fill.paid)).toEqual([10n ** 16n])
})

test("an operator's module trades within its tokens, and in the amount that it returns", async () => {
  const rehearsal = await rehearse(example('custom', (text) => text.replace('*/4', '*/2')))
  const trades = await untilSeen(rehearsal, /filled custom/)
  expect(new Set(trades.map(({ fill }) => fill.paid))).toEqual(new Set([10_000_000n]))
  expect(new Set(trades.map(({ intent }) => intent.buy.token.symbol))).toEqual(new Set(['WETH']))
})

test('a DCA with a dip rule buys the dip amount', async () => {
  const rehearsal = await rehearse({
    dip: {
      name: 'dip',
      kind: 'dca',
      schedule: { cron: '* * * * * *' },
      sell: 'USDC',
      buy: 'WETH',
      amount: '11',
      dip: [{ drop: '0.01%', amount: '22' }],
      limits: { perDay: '100000' },
    },
  })
  const trades = await untilSeen(rehearsal, /filled dip: 22 USDC/)
  const paid = new Set(trades.map(({ fill }) => fill.paid))
  for (const amount of paid) expect([11_000_000n, 22_000_000n]).toContain(amount)
  expect(paid).toContain(22_000_000n)
})
