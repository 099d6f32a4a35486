import { shortAmount } from '../../../page-parts/words/amounts.ts'
import { outcomeTone, plain, type Tone } from '../../../page-parts/words/outcomes.ts'
import type { FillRow, OrderRow, StrategyRow } from '../../model.ts'

/** The daemon's words for states and what somebody who reads them wants to know besides. */

const STRATEGY_TONES: Readonly<Record<StrategyRow['state'], Tone>> = {
  active: 'good',
  paused: 'warn',
  disabled: 'quiet',
  removed: 'quiet',
}

export function strategyTone(state: StrategyRow['state']): Tone {
  return STRATEGY_TONES[state] ?? 'quiet'
}

/** In the order in which an order goes through them. */
const ORDER_STATES: Readonly<Record<string, readonly [tone: Tone, meaning: string]>> = {
  planned: ['quiet', 'Decided and queued; nothing of it is signed.'],
  exposed: ['busy', 'Signed, and perhaps with the service: nobody has said yet.'],
  accepted: ['busy', 'The service has taken it.'],
  lapsing: [
    'warn',
    'Over by the service’s word; what is signed may still be alive until the chain shows that it is not.',
  ],
  filled: ['good', 'The chain proves it; only our own after-work is left.'],
}

export const ORDER_STATE_NAMES = Object.keys(ORDER_STATES)

export function orderTone({ state, overdue }: OrderRow): Tone {
  return overdue ? 'bad' : (ORDER_STATES[state]?.[0] ?? 'quiet')
}

export function orderMeaning(state: string): string {
  return ORDER_STATES[state]?.[1] ?? ''
}

const MODES: Readonly<Record<string, string>> = {
  live: 'Live: real money',
  'dry-run': 'Dry-run: nothing is signed',
  sandbox: 'Sandbox: play money',
}

export function modeText(mode: string): string {
  return MODES[mode] ?? mode
}

const WINDOWS: Readonly<Record<string, string>> = {
  hour: 'per hour',
  day: 'per day',
  week: 'per week',
  total: 'in total',
}

export function windowText(window: string): string {
  return WINDOWS[window] ?? window
}

/** How a share of a cap looks: close to it, or at it. A total that is used up is what a program is meant to come to. */
export function shareTone({ share, window }: { share: number; window: string }): Tone {
  if (share >= 1) return window === 'total' ? 'quiet' : 'bad'
  return share >= 0.8 ? 'warn' : 'good'
}

/** `sold 25 USDC for 0.0083 WETH`, or the call that was made. */
export function fillText({ sold, bought, call }: FillRow): string {
  if (sold === null || bought === null) return call === null ? 'filled' : `called ${call}`
  const amount = (of: { amount: string; token: string }) => `${shortAmount(of.amount)} ${of.token}`
  return `sold ${amount(sold)} for ${amount(bought)}`
}

export type Attention = { readonly tone: Tone; readonly word: string; readonly text: string }

/** Why somebody should look at a strategy, where it does not do what its file says; undefined where it does. */
export function attentionOf({
  state,
  paused,
  waits,
  lastSlot,
}: StrategyRow): Attention | undefined {
  if (state === 'paused')
    return {
      tone: 'warn',
      word: 'paused',
      text: paused === null ? '' : plain(paused.cause) + after(paused.detail),
    }
  if (state !== 'active') return undefined
  if (waits !== null) return { tone: 'warn', word: 'waits', text: waits }
  if (lastSlot === null) return undefined
  const { outcome, reason, detail } = lastSlot
  const tone = outcomeTone(outcome)
  if (tone !== 'bad' && tone !== 'warn') return undefined
  return { tone, word: outcome, text: plain(reason ?? '') + after(detail) }
}

function after(detail: string | null): string {
  return detail === null || detail === '' ? '' : `, ${detail}`
}

/** `0x1234…cdef` of an address or a hash. */
export function shortHash(hash: string): string {
  return hash.length <= 14 ? hash : `${hash.slice(0, 6)}…${hash.slice(-4)}`
}

/** An address for a link: of the web, or none at all. */
export function webAddress(text: string | null): string | undefined {
  if (text === null || !URL.canParse(text)) return undefined
  const { protocol, href } = new URL(text)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}
