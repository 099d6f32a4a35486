import { expect, test } from 'vitest'
import {
  type StatusSnapshot,
  statusText,
  whyText,
} from '../../../../../src/control/telegram/commands/status-text.ts'
import { reduce } from '../../../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../../../src/journal/state/state-image.ts'
import type { Why } from '../../../../../src/ui/page/model.ts'
import { anIntent, aPermit } from '../../../../support/builders.ts'

const NOW = Date.UTC(2027, 2, 1, 12)
/** Lines that fit a phone screen without much scrolling. */
const LINES_MAX = 30
const MESSAGE_LENGTH_MAX = 4_096

function stateWith(names: readonly string[]): DaemonState {
  const state = emptyState()
  for (const strategy of names)
    reduce(state, { type: 'strategy-scheduled', strategy, scheduleKey: 'x', fromSeconds: 0 }, NOW)
  return state
}

function sightOf(state: DaemonState, changes: Partial<StatusSnapshot> = {}): StatusSnapshot {
  return {
    mode: 'live',
    startedAtMs: NOW - 3_600_000,
    state,
    haltFile: undefined,
    strategies: [...state.strategies.keys()],
    nextSlotOf: () => undefined,
    gasTank: undefined,
    staleSinceMs: undefined,
    ...changes,
  }
}

test('status of a thousand strategies shows paused strategies and the soonest slots', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `strategy-${i}`)
  const state = stateWith(names)
  const detail = 'x'.repeat(5_000)
  reduce(
    state,
    { type: 'strategy-paused', strategy: 'strategy-999', cause: 'drawdown', detail },
    NOW,
  )
  reduce(state, { type: 'halted', cause: 'operator', detail }, NOW)
  const nextSlotOf = (name: string): number =>
    NOW / 1_000 + (name === 'strategy-500' ? 1 : 60 + Number(name.slice('strategy-'.length)))
  const text = statusText(sightOf(state, { nextSlotOf, staleSinceMs: NOW - 60_000 }), NOW + 1)
  const lines = text.split('\n')
  expect(lines.length).toBeLessThan(LINES_MAX)
  expect(text.length).toBeLessThan(MESSAGE_LENGTH_MAX)
  expect(lines).toContain('Changed files were refused 1m ago: the older ones are in force.')
  expect(lines).toContain('1000 strategies, 1 paused')
  const first = lines.indexOf('1000 strategies, 1 paused')
  expect(lines[first + 1]).toMatch(/^strategy-999: PAUSED 0s ago: x{157}\.\.\.$/)
  expect(lines[first + 2]).toBe('strategy-500: next in 1s')
  expect(lines.at(-1)).toBe('and 990 more')
})

test('strategies held for approval are listed before due strategies, with their reason', () => {
  const state = stateWith(['due', 'dip', 'off'])
  const detail = 'below 2600 fires at once: WETH/USDC is 2500'
  reduce(state, { type: 'strategy-held', strategy: 'dip', terms: 'aa', detail }, NOW)
  const paused = { type: 'strategy-paused', strategy: 'off', cause: 'operator' } as const
  reduce(state, { ...paused, detail: 'on request' }, NOW)
  const lines = statusText(sightOf(state), NOW + 1).split('\n')
  const first = lines.indexOf('3 strategies, 1 paused, 1 held for approval')
  expect(lines.slice(first + 1, first + 3)).toEqual([
    `dip: HELD 0s ago: ${detail}`,
    'off: PAUSED 0s ago: on request',
  ])
})

test('orders in flight are listed with their deadline and the number overdue', () => {
  const intent = anIntent()
  const state = stateWith([intent.strategy])
  reduce(
    state,
    {
      type: 'slot-opened',
      strategy: intent.strategy,
      slotSeconds: intent.slotSeconds,
      intents: [intent],
    },
    NOW,
  )
  expect(statusText(sightOf(state), NOW)).toContain(`1 order in flight:\n  ${intent.id} (planned)`)
  const permit = { ...aPermit(), attempt: 1, clientOrderId: `${intent.id}:1` }
  reduce(state, { type: 'permit-recorded', intentId: intent.id, permit } as never, NOW)
  const text = statusText(sightOf(state), (permit.deadlineSeconds + 1) * 1_000)
  expect(text).toContain('1 order in flight, 1 past the deadline and not resolved:')
})

test.each([
  [
    {
      tag: 'known',
      available: 43_123_456_789_000_000n,
      runwaySeconds: 432_000,
      isLow: false,
    } as const,
    'GasTank 0.043123 ETH, lasts 5d',
  ],
  [
    { tag: 'known', available: 0n, runwaySeconds: undefined, isLow: true } as const,
    'GasTank 0 ETH, LOW',
  ],
  [{ tag: 'unknown', why: 'no reply' } as const, 'GasTank unknown: no reply'],
])('GasTank funds: %o', (gasTank, line) => {
  expect(statusText(sightOf(stateWith([]), { gasTank }), NOW).split('\n')).toContain(line)
})

test('a slot shows one line per record, and a long one omits the middle', () => {
  const line = (seconds: number, title: string): Why['lines'][number] => ({
    atMs: NOW + seconds * 1_000,
    title,
    sentences: [],
    facts: [
      ['permit.signature', 'never'],
      ['outcome', 'skipped'],
      ['detail', 'y'.repeat(900)],
    ],
  })
  const lines = Array.from({ length: 300 }, (_, i) => line(i, `step ${i}`))
  const text = whyText({ slot: 'weekly-eth:1', lines, whole: true })
  expect(text.length).toBeLessThan(MESSAGE_LENGTH_MAX)
  const shown = text.split('\n')
  expect(shown[0]).toBe('weekly-eth:1, 2027-03-01 UTC')
  expect(shown[1]).toMatch(/^12:00:00 step 0: y{117}\.\.\.$/)
  expect(shown).toContain('... 276 more ...')
  expect(shown.at(-1)).toMatch(/^12:04:59 step 299/)
  expect(text).not.toContain('never')
})
