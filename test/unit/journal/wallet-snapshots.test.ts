import { beforeEach, describe, expect, test } from 'vitest'
import { type EventOf, reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { explainedNestedNonce, explainedTransactions } from '../../../src/venues/evidence.ts'
import { BOUND, OWNER } from '../../support/state/journal-events.ts'

const WALLET = { chainId: BOUND.chainId, wallet: OWNER }

let state: DaemonState

beforeEach(() => {
  state = emptyState()
  reduce(state, BOUND, 1)
})

function compared(seen: Partial<EventOf<'wallet-compared'>> = {}): void {
  const at = { sinceBlock: 1n, blockNumber: 10n, transactionCount: 4, nestedNonce: 10n }
  reduce(state, { type: 'wallet-compared', ...WALLET, ...at, ...seen }, 1)
}

function explained(): readonly unknown[] {
  return [explainedTransactions(state, WALLET), explainedNestedNonce(state, WALLET)]
}

describe('the explained state of a wallet', () => {
  test('is unknown before the first comparison with the chain', () => {
    expect(explained()).toEqual([undefined, undefined])
  })

  test('never decreases because of a node that is behind', () => {
    compared()
    compared({ blockNumber: 8n, transactionCount: 3, nestedNonce: 9n })
    expect(explained()).toEqual([4, 10n])
    // The search for later payments starts at that node's block.
    expect([...state.sights.values()]).toMatchObject([{ blockNumber: 8n }])
  })

  test('never decreases because of a node that omits a value', () => {
    compared()
    compared({ nestedNonce: undefined })
    expect(explained()).toEqual([4, 10n])
  })

  test('includes a signed change of its code, after which any nested nonce is accepted', () => {
    compared()
    const change = { chainId: BOUND.chainId, account: OWNER, delegate: OWNER, lastNonce: 5 }
    reduce(state, { type: 'delegation-signed', ...change }, 1)
    expect(explained()).toEqual([6, undefined])
    compared({ nestedNonce: 2n })
    expect(explained()).toEqual([6, 2n])
  })

  test('is cleared when an operator accepts a loss', () => {
    compared()
    reduce(state, { type: 'loss-accepted', detail: 'requested' }, 1)
    expect(explained()).toEqual([undefined, undefined])
  })
})
