import { describe, expect, test } from 'vitest'
import type { Word } from '../../../src/domain/word.ts'
import { refusalOf } from '../../../src/execute/settle/answers.ts'
import type { Fate, Findings } from '../../../src/execute/settle/findings.ts'
import { USDC } from '../../../src/simulate/stage.ts'

const HASH = `0x${'11'.repeat(32)}` as const
const DEAD: Word = { as: 'dead' }
const EXECUTED: Word = { as: 'executed', txHash: undefined }
const IN_TX: Word = { as: 'executed', txHash: HASH }

function findings(fate: Fate, changes: Partial<Findings> & { isGuarded?: boolean } = {}): Findings {
  const { isGuarded = true, ...more } = changes
  return {
    signed: {
      kind: isGuarded ? 'permit' : 'trusted call',
      token: USDC,
      most: 25n,
      spender: undefined,
      recipient: '0x01',
      nonce: isGuarded ? 7n : undefined,
      deadlineSeconds: isGuarded ? 100 : undefined,
    },
    head: undefined,
    final: undefined,
    isPast: undefined,
    fate,
    found: [],
    searchFault: undefined,
    named: { txHash: HASH, blockNumber: 5n, success: true, shows: 'nothing' },
    ...more,
  }
}

const reason = (found: Findings, word: Word) => refusalOf(found, word)?.reason

const why = 'because'
const USED: Fate = { tag: 'used', isFinal: false }
const USED_FOR_GOOD: Fate = { tag: 'used', isFinal: true }
const OVER: Fate = { tag: 'over', why }
const LIVE: Fate = { tag: 'live', why }
const UNGUARDED: Fate = { tag: 'unguarded', why }
const UNKNOWN: Fate = { tag: 'unknown', why }
const UNTOLD: Fate = { tag: 'untold', why, isOver: true }
const UNTOLD_LIVE: Fate = { tag: 'untold', why, isOver: false }

describe('what may be said', () => {
  test.each([
    ['a used nonce', USED, ['nonce-used', 'not-final', undefined]],
    ['a nonce that is used for good', USED_FOR_GOOD, ['nonce-used', undefined, undefined]],
    ['an unused nonce past its deadline', OVER, [undefined, 'nonce-unused', 'nonce-unused']],
    ['a nonce that may still be used', LIVE, ['still-live', 'nonce-unused', 'nonce-unused']],
    ['a chain that does not say', UNKNOWN, ['chain-unknown', 'chain-unknown', 'chain-unknown']],
    ['an account that nobody can ask', UNTOLD, ['chain-unknown', undefined, undefined]],
    ['the same before its time', UNTOLD_LIVE, ['chain-unknown', 'still-live', 'still-live']],
  ] as const)('of %s', (_, fate, [dead, executed, inTx]) => {
    const found = findings(fate)
    expect([reason(found, DEAD), reason(found, EXECUTED), reason(found, IN_TX)]).toEqual([
      dead,
      executed,
      inTx,
    ])
  })

  test.each([
    ['may come at any time', UNGUARDED, ['still-live', undefined, undefined]],
    ['can come no more', OVER, [undefined, undefined, undefined]],
  ] as const)('of a trusted call that %s', (_, fate, [dead, executed, inTx]) => {
    const found = findings(fate, { isGuarded: false })
    expect([reason(found, DEAD), reason(found, EXECUTED), reason(found, IN_TX)]).toEqual([
      dead,
      executed,
      inTx,
    ])
  })

  test('a transaction that is named has to be there', () => {
    for (const isGuarded of [true, false]) {
      const fate = isGuarded ? USED_FOR_GOOD : UNGUARDED
      const absent = findings(fate, { named: 'absent', isGuarded })
      expect(reason(absent, IN_TX)).toBe('no-such-transaction')
      const unread = findings(fate, { named: undefined, isGuarded })
      expect(reason(unread, IN_TX)).toBe('chain-unknown')
      expect(reason(unread, EXECUTED)).toBeUndefined()
    }
  })
})
