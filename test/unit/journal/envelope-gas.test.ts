import { expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { gasInDay } from '../../../src/journal/projections/transactions.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'

const HASH: Hex = `0x${'5e'.repeat(32)}`

test.each([
  ['in the submitted envelope counts its maximum cost as gas of the day', HASH, undefined, 'most'],
  ['in the submitted envelope counts its actual charge', HASH, 10n ** 17n, 10n ** 17n],
  [
    'in a different transaction of the service costs the wallet no gas',
    `0x${'6f'.repeat(32)}`,
    undefined,
    0n,
  ],
] as const)('a call executed %s', (_, txHash, charged, expected) => {
  const state = emptyState()
  const intent = callIntentOf(1_100, 'alpha')
  const call = callFor(intent, { attempt: 1, nonce: 4n })
  const own = { intentId: intent.id, attempt: 1 }
  const { costs, ...execution } = executionOf(intent)
  for (const event of [
    BOUND,
    scheduled('alpha'),
    opened(intent),
    { type: 'call-recorded', intentId: intent.id, call },
    { type: 'call-signed', ...own, hash: HASH },
    {
      type: 'call-proven',
      ...own,
      execution: { ...execution, txHash, costs: { ...costs, charged } },
    },
  ] as const)
    reduce(state, event, 1_100)
  const { gas, maxFeePerGas } = call.envelope
  const counted = gasInDay(state, { chainId: call.chainId, nowMs: 1_200 })
  expect(counted).toBe(expected === 'most' ? gas * maxFeePerGas : expected)
})
