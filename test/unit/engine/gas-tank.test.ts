import { expect, onTestFinished, test } from 'vitest'
import { keepGasTank } from '../../../src/engine/accounts/gas-tank.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { AggregatorReply, GasTankAccount } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { callContext } from '../../support/aggregator/call-venue.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator } from '../venues/call/aggregator-fixture.ts'

/** What is told in so many looks, each answered by the next of `answers` and then by the last. */
async function told(
  looks: number,
  answers: readonly AggregatorReply<GasTankAccount>[],
): Promise<readonly RuntimeEvent[]> {
  const key = createKey(new Uint8Array(32).fill(7))
  const { tools, answers: service, clock } = fakeAggregator({ key })
  const dir = temporaryDirectory()
  const opened = await openJournal({ dir, clock, onFatal: (error) => void error })
  onTestFinished(() => opened.close())
  tools.signBy(opened.journal)
  const closing = new AbortController()
  const observed: RuntimeEvent[] = []
  let asked = 0
  service.accountInfo = () => {
    const answer = answers[Math.min(asked, answers.length - 1)]
    asked += 1
    if (asked === looks) closing.abort()
    if (answer === undefined) throw new Error('no answer was given')
    return answer
  }
  const { aggregator } = tools
  const context = callContext({
    ...{ key, lines: aggregator, journal: opened.journal, settings: aggregator.settings },
    strategies: [],
    closing: closing.signal,
    observe: (event) => void observed.push(event),
  })
  await keepGasTank({ ...context, ports: { ...context.ports, clock } }, aggregator)
  return observed
}

const FUNDS = { ok: true, value: { balance: 9n, outstandingCharge: 2n } } as const
const fails = (tag: 'unauthenticated' | 'unavailable') =>
  ({ ok: false, fault: { tag, message: 'no' } }) as const

const funds = (observed: readonly RuntimeEvent[]) =>
  observed.filter(({ type }) => type.startsWith('gas-tank'))

test('a login that is not accepted is told at the first look: the funds are unknown, not what they were', async () => {
  const observed = await told(2, [FUNDS, fails('unauthenticated')])
  expect(funds(observed)).toMatchObject([
    { type: 'gas-tank', balance: 9n, outstanding: 2n },
    { type: 'gas-tank-unknown', account: 'operator', isLogin: true, message: 'no' },
  ])
})

test('a service that is silent for a moment changes nothing, and for a minute makes the funds unknown', async () => {
  const silent = fails('unavailable')
  expect(funds(await told(4, [FUNDS, silent]))).toMatchObject([{ type: 'gas-tank' }])
  const observed = await told(6, [FUNDS, silent, silent, silent, silent, FUNDS])
  expect(funds(observed)).toMatchObject([
    { type: 'gas-tank' },
    { type: 'gas-tank-unknown', isLogin: false },
    { type: 'gas-tank' },
  ])
})

test('the coin of the wallet is told at each look, whatever the service says', async () => {
  const observed = await told(2, [fails('unauthenticated')])
  const balance = { wallet: 'operator', token: 'ETH', amount: 10n ** 18n, decimals: 18 }
  expect(observed.filter(({ type }) => type === 'wallet-balance')).toEqual(
    Array(2).fill({ type: 'wallet-balance', ...balance }),
  )
})
