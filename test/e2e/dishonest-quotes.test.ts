import { expect, test } from 'vitest'
import { waitFor } from '../support/wait-for.ts'
import { audit } from './audit.ts'
import { everySecond, metricsOf, startRehearsal } from './rehearsal.ts'

/** The firewall's reason for each way in which the sandbox can falsify a quote. */
const REFUSALS: Readonly<Record<string, string>> = {
  wrongSpender: 'spender-not-allowed',
  wrongToken: 'sell-token-mismatch',
  higherAmount: 'digest-mismatch',
  foreignRecipient: 'recipient-mismatch',
  otherTokenOut: 'buy-token-mismatch',
  lowerMinAmountOut: 'amount-mismatch',
  longDeadline: 'deadline-mismatch',
  otherVerifyingContract: 'permit2-mismatch',
  otherChainId: 'permit2-mismatch',
  extraTypeField: 'typed-data-malformed',
  badPrice: 'price-deviation',
}

const FILLED = /"event":"filled"/

test('the firewall refuses every dishonest quote by name and signs nothing for it, and honest quotes still fill', async () => {
  const rehearsal = await startRehearsal(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const expected = new Map<string, number>()
  for (const [tampering, reason] of Object.entries(REFUSALS)) {
    expected.set(reason, (expected.get(reason) ?? 0) + 1)
    const sample = `tranched_refusals_total{strategy="buy-weth",reason="${reason}"}`
    await rehearsal.fault([{ kind: 'tamper', tampering, count: 1 }])
    const refusals = async () => (await metricsOf(daemon)).get(sample)
    await waitFor(`refusal of ${tampering}`, refusals, (seen) => seen === expected.get(reason))
  }
  await daemon.sees(FILLED, daemon.counts(FILLED) + 1)
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const refused = audited.events.filter(
    (event) => event.type === 'slot-closed' && event.outcome === 'refused',
  )
  expect(refused.length).toBe(Object.keys(REFUSALS).length)
})
